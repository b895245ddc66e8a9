"""VGG-16, Inception-v4 and NASNet-A from the modules of torchvision and timm, for any width, and the wide ResNet for CIFAR,
which neither has. See torch_models.py."""

from functools import partial
from importlib import import_module

from timm.layers import ConvNormAct
from torch import nn
from torchvision.models.vgg import VGG, cfgs, make_layers

# timm.models has functions of the modules' names.
inception = import_module("timm.models.inception_v4")
nasnet = import_module("timm.models.nasnet")


def vgg16(width, hidden, channels, classes):
    """torchvision's, with features and classifier made again for another width."""
    model = VGG(make_layers([v if v == "M" else v * width // 64 for v in cfgs["D"]]), classes, init_weights=False, dropout=0)
    model.features[0] = nn.Conv2d(channels, width, kernel_size=3, padding=1)
    model.classifier[0] = nn.Linear(8 * width * 7 * 7, hidden)
    model.classifier[3] = nn.Linear(hidden, hidden)
    model.classifier[6] = nn.Linear(hidden, classes)
    return model


class WideBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn0 = nn.BatchNorm2d(inputs)
        self.conv0 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv1 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.convdim = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if inputs != outputs else None

    def forward(self, x):
        active = self.bn0(x).relu()
        y = self.conv1(self.bn1(self.conv0(active)).relu())
        return y + (self.convdim(active) if self.convdim else x)


class WideResNet(nn.Module):
    """Zagoruyko and Komodakis 2016."""

    def __init__(self, depth, widening, channels, classes):
        super().__init__()
        self.conv0 = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        inputs = 16
        for group in range(3):
            outputs = (16 << group) * widening
            blocks = nn.ModuleDict()
            for i in range((depth - 4) // 6):
                blocks[f"block{i}"] = WideBlock(inputs, outputs, 2 if group > 0 and i == 0 else 1)
                inputs = outputs
            self.add_module(f"group{group}", blocks)
        self.bn = nn.BatchNorm2d(inputs)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.conv0(x)
        for group in (self.group0, self.group1, self.group2):
            for block in group.values():
                x = block(x)
        return self.fc(self.bn(x).relu().mean(dim=(2, 3)))


def inception_v4(width, channels, classes):
    """timm's, with the features made again for another width."""
    model = inception.InceptionV4(num_classes=classes, in_chans=channels)
    if width == 32:
        return model
    block = partial(ConvNormAct, padding=0, norm_layer="batchnorm2d", norm_kwargs={"eps": 1e-3})

    def narrow(inputs, outputs, **options):
        return block(inputs * width // 32, outputs * width // 32, **options)

    features = [block(channels, width, kernel_size=3, stride=2), narrow(32, 32, kernel_size=3)]
    features += [narrow(32, 64, kernel_size=3, padding=1)]
    features += [module(narrow) for module in (inception.Mixed3a, inception.Mixed4a, inception.Mixed5a)]
    features += [inception.InceptionA(narrow) for _ in range(4)] + [inception.ReductionA(narrow)]
    features += [inception.InceptionB(narrow) for _ in range(7)] + [inception.ReductionB(narrow)]
    features += [inception.InceptionC(narrow) for _ in range(3)]
    model.features = nn.Sequential(*features)
    model.last_linear = nn.Linear(48 * width, classes)
    return model


class AuxiliaryHead(nn.Module):
    """The second classifier of the authors' code; timm has none."""

    def __init__(self, inputs, size, classes):
        super().__init__()
        self.proj = nn.Conv2d(inputs, 128, 1, bias=False)
        self.aux_bn0 = nn.BatchNorm2d(128, eps=1e-3)
        self.conv = nn.Conv2d(128, 768, size, bias=False)
        self.aux_bn1 = nn.BatchNorm2d(768, eps=1e-3)
        self.fc = nn.Linear(768, classes)

    def forward(self, x):
        x = nn.functional.avg_pool2d(x.relu(), 5, 3)
        x = self.aux_bn0(self.proj(x)).relu()
        return self.fc(self.aux_bn1(self.conv(x)).relu().flatten(1))


class NasnetA(nasnet.NASNetALarge):
    """timm's; for another number of cells its cells are made again and called in a loop."""

    def __init__(self, cells, width, channels, classes, auxiliary_weight=0, auxiliary_size=1):
        super().__init__(num_classes=classes, in_chans=channels, stem_size=width * 4 // 7, num_features=24 * width)
        self.auxiliary_weight = auxiliary_weight
        self.cells, self.ends = cells, (cells // 3, 2 * cells // 3)
        if cells != 18:
            self.make_cells(width)
        if auxiliary_weight:
            self.aux_head = AuxiliaryHead(12 * width, auxiliary_size, classes)

    def make_cells(self, filters):
        for i in range(18):
            delattr(self, f"cell_{i}")
        del self.reduction_cell_0, self.reduction_cell_1
        before, now = filters, 2 * filters
        for i in range(self.cells):
            if i in self.ends:
                filters *= 2
                cell = nasnet.ReductionCell0(before, filters, now, filters, "same")
                self.add_module(f"reduction_cell_{self.ends.index(i)}", cell)
                now = 4 * filters
            if i == 0 or i in self.ends:
                cell = nasnet.FirstCell(before, filters // 2, now, filters, "same")
            else:
                cell = nasnet.NormalCell(before, filters, now, filters, "same")
            self.add_module(f"cell_{i}", cell)
            before, now = now, 6 * filters

    def forward(self, images):
        if self.cells == 18 and not self.auxiliary_weight:
            return super().forward(images)
        start = self.conv0(images)
        before = self.cell_stem_0(start)
        x = self.cell_stem_1(start, before)
        auxiliary = []
        for i in range(self.cells):
            if i in self.ends:
                index = self.ends.index(i)
                if index == 1 and self.auxiliary_weight and self.training:
                    auxiliary = [self.aux_head(x)]
                x = getattr(self, f"reduction_cell_{index}")(x, before)
            before, x = x, getattr(self, f"cell_{i}")(x, before)
        logits = self.forward_head(x.relu())
        return (logits, *auxiliary) if auxiliary else logits
