"""Two Transformers for scripts/export_torch_graph.py: each function returns (model, inputs, target, loss_fn)."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0)
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, length, tokens, dropout):
        super().__init__()
        self.token, self.position = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.token.weight  # tied: one buffer

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(layers=24, width=1024, heads=16, length=1024, tokens=50257, batch=4, dropout=0.1):
    """The shape of GPT-2 medium, next-token prediction."""
    model = Gpt(layers, width, heads, length, tokens, dropout)
    text = torch.zeros(batch, length, dtype=torch.long)
    return model, text, torch.zeros_like(text), lambda y, target: F.cross_entropy(y.flatten(0, 1), target.flatten())


class Classifier(nn.Module):
    def __init__(self, layers, width, heads, tokens, classes, dropout):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens, padding):
        return self.head(self.encoder(self.embed(tokens), src_key_padding_mask=padding)[:, 0])


def encoder(layers=6, width=512, heads=8, length=256, tokens=30000, classes=2, batch=32, dropout=0.1):
    """Text classification with torch.nn's encoder and a padding mask."""
    model = Classifier(layers, width, heads, tokens, classes, dropout)
    text, padding = torch.zeros(batch, length, dtype=torch.long), torch.zeros(batch, length, dtype=torch.bool)
    return model, {"tokens": text, "padding": padding}, torch.zeros(batch, dtype=torch.long), F.cross_entropy
