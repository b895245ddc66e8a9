"""BERT and GPT-2 of Hugging Face Transformers with the sizes of the command line and no dropout, their inputs and their
training loss, for golden values. See torch_models.py."""

import numpy as np
import torch
from torch import nn
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

import philox

# (layers, hidden size, heads)
BERT = {"bert-base": (12, 768, 12), "bert-large": (24, 1024, 16)}
GPT2 = {"gpt2": (12, 768, 12), "gpt2-medium": (24, 1024, 16), "gpt2-large": (36, 1280, 20), "gpt2-xl": (48, 1600, 25)}
CLASSIFIER = "-classifier"
IGNORED = -100


def is_transformer(name):
    return name in GPT2 or name.removesuffix(CLASSIFIER) in BERT


def make_transformer(name, layers=None, hidden=None, heads=None, seq_len=None, vocab=None, classes=None):
    """The model `name`; None means the default."""
    sizes = GPT2.get(name) or BERT[name.removesuffix(CLASSIFIER)]
    layers, hidden, heads = layers or sizes[0], hidden or sizes[1], heads or sizes[2]
    if name in GPT2:
        config = GPT2Config(
            n_layer=layers, n_embd=hidden, n_head=heads, vocab_size=vocab or 50257, n_positions=max(1024, seq_len or 0),
            attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, attn_implementation="eager", use_cache=False,
            bos_token_id=0, eos_token_id=0,
        )
        return GPT2LMHeadModel(config)
    config = BertConfig(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=4 * hidden,
        vocab_size=vocab or 30522, max_position_embeddings=max(512, seq_len or 0), num_labels=classes or 2,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0, attn_implementation="eager",
    )
    return (BertForSequenceClassification if name.endswith(CLASSIFIER) else BertForPreTraining)(config)


def own_tensors(model):
    """Parameters and buffers as the state dict names and orders them, tied ones once, under their first name."""
    tensors, seen = {}, set()
    for name, value in model.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            tensors[name] = value
        seen.add(id(value))
    return tensors


def drawn(name, shape, below, seed):
    n = int(np.prod(shape, dtype=np.int64))
    return philox.named_stream(name, seed).below(n, below).reshape(shape)


def transformer_inputs(name, batch, seed, seq_len=None, vocab=None, classes=None, **_):
    """Inputs and labels by Transformers' argument names, int64. Sequences of BERT differ in length and are padded; their
    labels name a fifth of the tokens, those of GPT-2 all but a few."""
    length = seq_len or (1024 if name in GPT2 else 512)
    vocab = vocab or (50257 if name in GPT2 else 30522)
    ids = drawn("input_ids", [batch, length], vocab, seed)
    chosen = drawn("chosen", [batch, length], 10, seed)
    if name in GPT2:
        made = {"input_ids": ids, "labels": np.where(chosen == 0, IGNORED, ids)}
    else:
        ends = length - drawn("padding", [batch, 1], max(1, length // 2), seed)
        ends[0] = length
        mask = (np.arange(length)[None, :] < ends).astype(np.int64)
        segments = (np.arange(length)[None, :] >= ends // 2).astype(np.int64) * mask
        made = {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": segments}
        if name.endswith(CLASSIFIER):
            made["labels"] = drawn("labels", [batch], classes or 2, seed)
        else:
            tokens = np.where((chosen < 2) & (mask == 1), ids, IGNORED)
            tokens[0, 0] = ids[0, 0]  # never none
            made |= {"labels": tokens, "next_sentence_label": drawn("next_sentence_label", [batch], 2, seed)}
    return {key: torch.from_numpy(value.astype(np.int64)) for key, value in made.items()}


def transformer_logits(model, inputs):
    """Of the first prediction, [rows, classes]."""
    given = {name: value for name, value in inputs.items() if name not in ("labels", "next_sentence_label")}
    out = model(**given)
    logits = out.prediction_logits if isinstance(model, BertForPreTraining) else out.logits
    return logits.reshape(-1, logits.shape[-1])


def transformer_loss(model, inputs):
    if isinstance(model, GPT2LMHeadModel):
        # As Transformers' loss, which makes float32 of the logits.
        logits = model(input_ids=inputs["input_ids"]).logits[:, :-1]
        return nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), inputs["labels"][:, 1:].reshape(-1))
    return model(**inputs).loss


def transformer_step(model, inputs, optimizer):
    """One training step; changes the model. Returns (loss, gradients)."""
    model.train()
    loss = transformer_loss(model, inputs)
    loss.backward()
    optimizer.step()
    return loss.detach(), {name: p.grad for name, p in model.named_parameters()}
