"""The models of models/ in PyTorch, for golden values: torchvision's ResNets and VGG-16 and timm's Inception-v4 and
NASNet-A with any width, input channels and classes, and the CIFAR ResNets, the MLP and the recurrent networks, which neither
has. Parameter names are ours (and torchvision's and timm's). Dropout is off."""

import math
import re

import numpy as np
import torch
from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

import philox
from torch_vision import NasnetA, WideResNet, inception_v4, vgg16

IMAGENET = {
    18: (BasicBlock, [2, 2, 2, 2]),
    34: (BasicBlock, [3, 4, 6, 3]),
    50: (Bottleneck, [3, 4, 6, 3]),
    101: (Bottleneck, [3, 4, 23, 3]),
    152: (Bottleneck, [3, 8, 36, 3]),
}
CIFAR_DEPTHS = (20, 32, 44, 56, 110)
RECURRENT = ("rnn", "brnn")


class ScaledResNet(ResNet):
    """torchvision's ResNet, its layers made again for another width."""

    def __init__(self, block, blocks, width=64, widening=1, channels=3, classes=1000):
        super().__init__(block, blocks, num_classes=classes, width_per_group=64 * widening)
        self.inplanes = width
        self.conv1 = nn.Conv2d(channels, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._make_layer(block, width, blocks[0])
        self.layer2 = self._make_layer(block, 2 * width, blocks[1], stride=2)
        self.layer3 = self._make_layer(block, 4 * width, blocks[2], stride=2)
        self.layer4 = self._make_layer(block, 8 * width, blocks[3], stride=2)
        self.fc = nn.Linear(8 * width * block.expansion, classes)


class CifarResNet(nn.Module):
    """He et al. 2016, section 4.2, with projection shortcuts."""

    def __init__(self, blocks_per_stage, width=16, channels=3, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, kernel_size=3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        inputs = width
        for stage in range(3):
            planes = width << stage
            layer = nn.Sequential()
            for block in range(blocks_per_stage):
                stride = 2 if stage > 0 and block == 0 else 1
                downsample = None
                if stride != 1 or inputs != planes:
                    downsample = nn.Sequential(
                        nn.Conv2d(inputs, planes, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(planes)
                    )
                layer.append(BasicBlock(inputs, planes, stride, downsample))
                inputs = planes
            self.add_module(f"layer{stage + 1}", layer)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean(dim=(2, 3)))


class Mlp(nn.Module):
    def __init__(self, inputs, hidden=512, layers=2, classes=10):
        super().__init__()
        self.layers = layers
        for i in range(1, layers + 1):
            self.add_module(f"fc{i}", nn.Linear(inputs, hidden))
            inputs = hidden
        self.add_module(f"fc{layers + 1}", nn.Linear(inputs, classes))

    def forward(self, x):
        x = x.flatten(1)
        for i in range(1, self.layers + 1):
            x = torch.relu(getattr(self, f"fc{i}")(x))
        return getattr(self, f"fc{self.layers + 1}")(x)


class RecurrentNetwork(nn.Module):
    """Embedding, nn.LSTM or nn.GRU, and a linear layer at every time step: ids [N, T] to logits [N T, vocab]."""

    def __init__(self, bidirectional, cell="lstm", hidden=512, layers=2, vocab=256):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.rnn = kind(hidden, hidden, layers, batch_first=True, bidirectional=bidirectional)
        self.linear = nn.Linear(hidden * (2 if bidirectional else 1), vocab)

    def forward(self, ids):
        states, _ = self.rnn(self.embedding(ids))
        return self.linear(states).flatten(0, 1)


def make_model(name, image_size=None, channels=None, classes=None, width=None, hidden=None, layers=None, depth=None,
               cells=None, auxiliary_weight=None, **options):
    """The model `name` with the options of the command line; None means the default."""
    if name in RECURRENT:
        return RecurrentNetwork(name == "brnn", options.get("cell") or "lstm", hidden or 512, layers or 2,
                                options.get("vocab") or 256)
    if name == "vgg16":
        return vgg16(width or 64, hidden or 4096, channels or 3, classes or 1000)
    if name == "wrn28-10":
        return WideResNet(depth or 28, width or 10, channels or 3, classes or 10)
    if name == "inception_v4":
        return inception_v4(width or 32, channels or 3, classes or 1000)
    if name == "nasnet-a":
        return NasnetA(cells or 18, width or 168, channels or 3, classes or 1000, auxiliary_weight or 0)
    if name == "mlp":
        inputs = (channels or 1) * (image_size or 28) ** 2
        return Mlp(inputs, hidden or 512, 2 if layers is None else layers, classes or 10)
    match = re.fullmatch(r"(?:resnet(\d+)|wide_resnet(\d+)_2|wresnet(\d+)-(\d+))", name)
    if not match:
        raise ValueError(f"unknown model {name}")
    plain, wide, widened, factor = (int(g) if g else None for g in match.groups())
    if plain in CIFAR_DEPTHS:
        return CifarResNet((plain - 2) // 6, width or 16, channels or 3, classes or 10)
    block, blocks = IMAGENET[plain or wide or widened]
    return ScaledResNet(block, blocks, width or 64 * (factor or 1), 2 if wide else 1, channels or 3, classes or 1000)


def defaults(name):
    """(channels, image size, classes)"""
    sizes = {"mlp": (1, 28, 10), "wrn28-10": (3, 32, 10), "inception_v4": (3, 299, 1000), "nasnet-a": (3, 331, 1000)}
    if name in sizes:
        return sizes[name]
    match = re.fullmatch(r"resnet(\d+)", name)
    return (3, 32, 10) if match and int(match[1]) in CIFAR_DEPTHS else (3, 224, 1000)


def value_range(name, shape):
    """(low, high) of the uniform distribution that a start value is drawn from; equal ends make a constant. Nothing
    starts at the value that would hide an error (0 or 1)."""
    leaf = name.rsplit(".", 1)[-1]
    if name == "input":
        return -1.7, 1.7
    if name.startswith("momentum."):
        return -0.01, 0.01
    if leaf == "num_batches_tracked":
        return 7, 7
    # Inception-v4 is 75 convolutions deep without a shortcut: with batch norms around zero each ReLU would cut half of the
    # values, and rounding errors would grow a million times on the way back.
    if name.startswith("features.") and name.endswith(".bn.bias"):
        return 0.5, 1.5
    if leaf == "running_mean" or leaf.startswith("bias"):
        return -0.2, 0.2
    if len(shape) == 4 and shape[1] == 1 and shape[0] > 1:  # depthwise: the deviation of He's initialisation, fan-in
        high = round(math.sqrt(6 / (shape[2] * shape[3])), 4)
        return -high, high
    if len(shape) == 4:  # the deviation of He's initialisation, fan-out
        high = round(math.sqrt(6 / (shape[0] * shape[2] * shape[3])), 4)
        return -high, high
    if len(shape) == 2:
        high = round(math.sqrt(3 / shape[1]), 4)
        return -high, high
    return 0.5, 1.5  # batch norm's scale and running variance


def start_value(name, shape, seed):
    """A float64 tensor of values that float32 can hold."""
    drawn = philox.uniform(name, shape, *value_range(name, shape), seed)
    return torch.from_numpy(np.asarray(drawn, dtype=np.float32).astype(np.float64))


def start_labels(batch, classes, seed):
    return torch.from_numpy(philox.named_stream("target", seed).below(batch, classes))


def start_ids(name, shape, vocab, seed):
    """Tokens for the input or target `name`."""
    return torch.from_numpy(philox.named_stream(name, seed).below(math.prod(shape), vocab).reshape(shape))


def start_inputs(name, batch, options, seed):
    """Input and target of the model `name` with the options of the command line."""
    if name in RECURRENT:
        shape, vocab = (batch, options.get("seq_len") or 64), options.get("vocab") or 256
        return start_ids("input", shape, vocab, seed), start_ids("target", shape, vocab, seed)
    channels, size, classes = defaults(name)
    size = options.get("image_size") or size
    images = start_value("input", [batch, options.get("channels") or channels, size, size], seed)
    return images, start_labels(batch, options.get("classes") or classes, seed)


def sgd_step(model, images, labels, lr, momentum, weight_decay, start_momentum=None):
    """One training step of cross entropy in the model's dtype; changes the model. Returns (loss, gradients, momentum).

    `start_momentum`: momentum buffers by parameter name, else they start at zero.
    """
    named = dict(model.named_parameters())
    sgd = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
    optimizer = make_optimizer("sgd", named.values(), sgd)
    for name, value in (start_momentum or {}).items():
        optimizer.state[named[name]]["momentum_buffer"] = value.clone()
    loss, gradients = optimizer_step(model, images, labels, optimizer)
    buffers = {name: optimizer.state[p].get("momentum_buffer") for name, p in named.items()}
    return loss, gradients, buffers


def make_optimizer(name, parameters, options):
    """PyTorch's optimizer `name` with the options of the command line: lr, weight_decay, and momentum or beta1, beta2
    and eps."""
    options = dict(options)
    if name == "sgd":
        return torch.optim.SGD(parameters, **options)
    betas = (options.pop("beta1"), options.pop("beta2"))
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name](parameters, betas=betas, **options)


def optimizer_step(model, images, labels, optimizer):
    """One training step of cross entropy in the model's dtype; changes the model. Returns (loss, gradients)."""
    model.train()
    outputs = model(images)
    # A tuple: the logits, and those of an auxiliary classifier.
    logits, *auxiliary = outputs if isinstance(outputs, tuple) else (outputs,)
    loss = nn.functional.cross_entropy(logits, labels.flatten())
    for more in auxiliary:
        loss = loss + model.auxiliary_weight * nn.functional.cross_entropy(more, labels)
    loss.backward()
    optimizer.step()
    return loss.detach(), {name: p.grad for name, p in model.named_parameters()}
