#!/usr/bin/env python3
"""Tests scripts/export_torch_graph.py: graphs worked out by hand, and plans of them. Skips (77) without PyTorch.

usage: export_torch_graph_test.py SCRIPTS_DIR SWAPADVISOR
"""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

scripts, binary = Path(sys.argv[1]), sys.argv[2]
try:
    import torch
except ImportError:
    print(f"skipped: no PyTorch for {sys.executable}")
    sys.exit(77)

from torch import nn
from torch.nn import functional as F

sys.dont_write_bytecode = True
sys.path.insert(0, str(scripts))
from export_torch_graph import ExportError, export_training_step, main  # noqa: E402


class Mlp(nn.Module):
    def __init__(self, inputs=4, hidden=8, classes=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(inputs, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)


class Graph:
    """A graph v1 document by names."""

    def __init__(self, document):
        self.document = document
        self.buffers = {b["name"]: (b["bytes"], b["kind"]) for b in document["buffers"]}
        self.ops = {op["name"]: op for op in document["ops"]}
        self.names = [b["name"] for b in document["buffers"]]

    def reads(self, op):
        return [self.names[b] for b in self.ops[op]["inputs"]]

    def writes(self, op):
        return [self.names[b] for b in self.ops[op]["outputs"]]


class ExportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="swapadvisor-export-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "graph.json"

    def export(self, model, loss_fn, inputs, target=None, optimizer=None, **options):
        document = export_training_step(model, loss_fn, inputs, target, optimizer or sgd(model), self.path, **options)
        self.assertEqual(json.loads(self.path.read_text()), document)
        return Graph(document)

    def export_mlp(self, **options):
        return self.export(Mlp(), F.cross_entropy, torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1]), **options)

    def test_mlp_buffers(self):
        parameters = {"fc1.weight": 128, "fc1.bias": 32, "fc2.weight": 96, "fc2.bias": 12}
        expected = {name: (size, "parameter") for name, size in parameters.items()}
        expected |= {f"{name}.momentum_buffer": (size, "state") for name, size in parameters.items()}
        expected |= {f"grad.{name}": (size, "temporary") for name, size in parameters.items()}
        expected |= {"input": (80, "input"), "target": (40, "input"), "loss": (4, "output")}
        temporaries = {
            "fc1.addmm": 160,
            "relu": 160,
            "fc2.addmm": 60,
            "loss._log_softmax": 60,
            "loss.nll_loss_forward.1": 4,  # the sum of the weights
            "loss.backward.ones_like": 4,
            "loss.backward.nll_loss_backward": 60,
            "loss.backward._log_softmax_backward_data": 60,
            "fc2.backward.mm": 160,
            "backward.threshold_backward": 160,
        }
        expected |= {name: (size, "temporary") for name, size in temporaries.items()}
        self.assertEqual(self.export_mlp().buffers, expected)

    def test_mlp_ops(self):
        graph = self.export_mlp()
        forward = {
            "fc1.addmm": (["fc1.bias", "input", "fc1.weight"], ["fc1.addmm"]),
            "relu": (["fc1.addmm"], ["relu"]),
            "fc2.addmm": (["fc2.bias", "relu", "fc2.weight"], ["fc2.addmm"]),
            "loss._log_softmax": (["fc2.addmm"], ["loss._log_softmax"]),
            "loss.nll_loss_forward": (["loss._log_softmax", "target"], ["loss", "loss.nll_loss_forward.1"]),
        }
        backward = {
            "loss.backward.ones_like": ([], ["loss.backward.ones_like"]),  # of the loss it needs the shape only
            "loss.backward.nll_loss_backward": (
                ["loss.backward.ones_like", "loss._log_softmax", "target", "loss.nll_loss_forward.1"],
                ["loss.backward.nll_loss_backward"],
            ),
            "loss.backward._log_softmax_backward_data": (
                ["loss.backward.nll_loss_backward", "loss._log_softmax"],
                ["loss.backward._log_softmax_backward_data"],
            ),
            "fc2.backward.mm": (["loss.backward._log_softmax_backward_data", "fc2.weight"], ["fc2.backward.mm"]),
            "fc2.backward.mm#2": (["loss.backward._log_softmax_backward_data", "relu"], ["grad.fc2.weight"]),
            "fc2.backward.sum": (["loss.backward._log_softmax_backward_data"], ["grad.fc2.bias"]),
            "backward.threshold_backward": (["fc2.backward.mm", "relu"], ["backward.threshold_backward"]),
            "fc1.backward.mm": (["backward.threshold_backward", "input"], ["grad.fc1.weight"]),
            "fc1.backward.sum": (["backward.threshold_backward"], ["grad.fc1.bias"]),
        }
        update = {}
        for name in ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"):
            momentum = f"{name}.momentum_buffer"
            update[f"update.{name}.mul_"] = ([momentum], [momentum])
            update[f"update.{name}.add_"] = ([f"grad.{name}", momentum], [momentum])
            update[f"update.{name}.add_#2"] = ([momentum, name], [name])
        expected = forward | backward | update
        self.assertEqual([op["name"] for op in graph.document["ops"]], list(expected))
        for name, (reads, writes) in expected.items():
            op = graph.ops[name]
            self.assertEqual((sorted(graph.reads(name)), graph.writes(name)), (sorted(reads), writes), name)
            self.assertEqual(op["recomputable"], name not in update and name != "loss.nll_loss_forward", name)
            self.assertEqual(op["inplace"], name in ("relu", "backward.threshold_backward"), name)
            self.assertEqual(op["type"], name.split(".")[-1].split("#")[0])

    def test_seconds_are_a_roofline(self):
        model = nn.Linear(1024, 2048, bias=False)
        graph = self.export(model, lambda y: y.sum(), torch.empty(512, 1024, device="meta"), device_model="a100-40g")
        self.assertAlmostEqual(graph.ops["mm"]["seconds"], 5e-6 + 2 * 512 * 1024 * 2048 / (19.5e12 * 0.7), delta=1e-9)
        self.assertAlmostEqual(graph.ops["loss.sum"]["seconds"], 5e-6 + (512 * 2048 + 1) * 4 / (1555e9 * 0.8), delta=1e-9)

    def test_early_updates_follow_their_last_operand(self):
        late, early = self.export_mlp(), self.export_mlp(updates="early")
        self.assertEqual(late.buffers, early.buffers)
        self.assertCountEqual(late.document["ops"], early.document["ops"])
        order = list(early.ops)
        # fc2.weight is read by the first mm and its gradient made by the second.
        self.assertEqual(order[order.index("fc2.backward.mm#2") + 1], "update.fc2.weight.add_")
        self.assertLess(order.index("update.fc2.bias.add_#2"), order.index("backward.threshold_backward"))

    def test_inplace_ops_update_or_write_anew(self):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True))
        graph = self.export(model, lambda y: y.sum(), torch.randn(5, 4))
        self.assertEqual((graph.reads("1.relu_"), graph.writes("1.relu_")), (["0.addmm"], ["0.addmm"]))
        self.assertFalse(graph.ops["1.relu_"]["recomputable"] or graph.ops["1.relu_"]["inplace"])
        graph = self.export(model, lambda y: y.sum(), torch.randn(5, 4), functional=True)
        self.assertEqual((graph.reads("1.relu_"), graph.writes("1.relu_")), (["0.addmm"], ["1.relu_"]))
        self.assertTrue(graph.ops["1.relu_"]["recomputable"] and graph.ops["1.relu_"]["inplace"])
        self.assertEqual(graph.reads("1.backward.threshold_backward")[-1], "1.relu_")

    def test_views_keep_the_base_alive(self):
        class Views(Mlp):
            def forward(self, x):
                return self.fc2(self.fc1(x).view(10, 4)[2:].t().reshape(32).view(4, 8))

        graph = self.export(Views(), lambda y: y.sum(), torch.randn(5, 4))
        forward = [name for name in graph.ops if not name.startswith(("update", "loss")) and "backward" not in name]
        self.assertEqual(forward, ["fc1.addmm", "clone", "fc2.addmm"])  # the transposed slice is copied by reshape
        self.assertEqual(graph.reads("clone"), ["fc1.addmm"])
        self.assertEqual(graph.buffers["clone"], (4 * 8 * 4, "temporary"))

    def test_batch_norm_updates_its_statistics_apart(self):
        model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6))
        graph = self.export(model, lambda y: y.sum(), torch.randn(2, 3, 8, 8))
        norm, update = "1.native_batch_norm", "1.running_statistics_update"
        self.assertEqual(graph.reads(norm), ["0.convolution", "1.weight", "1.bias"])
        self.assertTrue(graph.ops[norm]["recomputable"])
        self.assertEqual(graph.reads(update), [f"{norm}.1", f"{norm}.2", "1.running_mean", "1.running_var"])
        self.assertEqual(graph.writes(update), ["1.running_mean", "1.running_var"])
        self.assertFalse(graph.ops[update]["recomputable"])
        self.assertNotIn("1.running_mean", graph.reads("1.backward.native_batch_norm_backward"))
        self.assertEqual(graph.buffers["1.num_batches_tracked"], (8, "state"))

    def test_dropout_is_not_recomputable_but_its_mask_is_a_buffer(self):
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        graph = self.export(model, lambda y: y.sum(), torch.randn(5, 4))
        self.assertFalse(graph.ops["1.native_dropout"]["recomputable"])
        self.assertEqual(graph.buffers["1.native_dropout.1"], (40, "temporary"))
        self.assertIn("1.native_dropout.1", graph.reads("1.backward.native_dropout_backward"))
        self.assertTrue(graph.ops["2.addmm"]["recomputable"])

    def test_attention_stores_no_weights_unless_asked(self):
        model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        weights = 3 * 2 * 64 * 64 * 4  # batch × heads × length²
        graph = self.export(model, lambda y: y.sum(), torch.randn(3, 64, 16))
        self.assertTrue(graph.ops["self_attn._scaled_dot_product_efficient_attention"]["recomputable"])
        self.assertNotIn((weights, "temporary"), graph.buffers.values())
        graph = self.export(model, lambda y: y.sum(), torch.randn(3, 64, 16), attention="math")
        self.assertIn((weights, "temporary"), graph.buffers.values())

    def test_tied_weights_are_one_buffer(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, x):
                return self.head(self.embed(x))

        graph = self.export(Tied(), F.cross_entropy, torch.zeros(3, dtype=torch.long), torch.zeros(3, dtype=torch.long))
        self.assertEqual([n for n, (_, kind) in graph.buffers.items() if kind == "parameter"], ["embed.weight"])

    def test_inputs_are_never_written(self):
        class Normalizes(Mlp):
            def forward(self, x):
                return super().forward(x.sub_(1))

        graph = self.export(Normalizes(), lambda y: y.sum(), torch.randn(5, 4))
        self.assertEqual((graph.reads("sub_"), graph.writes("sub_")), (["input"], ["sub_"]))
        self.assertEqual(graph.reads("fc1.addmm")[1:], ["sub_", "fc1.weight"])

    def test_the_users_model_stays_as_it_is(self):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        graph = self.export(model, lambda y: y.sum(), torch.randn(5, 4), None, optimizer)
        self.assertEqual(graph.buffers["0.weight.exp_avg_sq"], (128, "state"))
        self.assertNotIn("0.weight.step", graph.buffers)  # lives on the host
        self.assertTrue(all(torch.equal(before[name], value) for name, value in model.state_dict().items()))
        self.assertFalse(optimizer.state)
        self.assertTrue(all(p.grad is None for p in model.parameters()))
        self.assertFalse(any(module._forward_hooks for module in model.modules()))

    def test_measured_seconds(self):
        graph = self.export_mlp(measure="cpu")
        self.assertTrue(all(op["seconds"] > 0 for op in graph.ops.values()))

    def test_errors_are_one_sentence_and_keep_the_old_file(self):
        class Branches(Mlp):
            def forward(self, x):
                y = super().forward(x)
                return y if y.sum().item() > 0 else -y

        self.path.write_text("old")
        for model, loss_fn, inputs, words in (
            (Branches(), lambda y: y.sum(), torch.randn(5, 4), "values of a tensor decide"),
            (Mlp(), lambda y: y.sum(), torch.randn(5, 7), "module 'fc1'"),
            (Mlp(), lambda y: y, torch.randn(5, 4), r"the loss is \[5, 3\]"),
            (Mlp(), lambda y: y.detach().sum(), torch.randn(5, 4), "depends on no parameter"),
        ):
            with self.assertRaisesRegex(ExportError, words) as caught:
                export_training_step(model, loss_fn, inputs, None, sgd(model), self.path)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(ExportError, "cannot write .*No such file"):
            export_training_step(Mlp(), lambda y: y.sum(), torch.randn(5, 4), None, sgd(Mlp()), self.folder / "no" / "g.json")
        self.assertEqual(self.path.read_text(), "old")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["graph.json"])

    def run_program(self, *arguments):
        done = subprocess.run(arguments, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def run_here(self, *arguments):
        """The exporter's command line in this process: (exit code, standard output, standard error)."""
        output, errors = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", ["export_torch_graph.py", *arguments]), contextlib.chdir(self.folder):
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
                try:
                    code = main()
                except SystemExit as left:
                    code = left.code
        return code, output.getvalue(), errors.getvalue()

    def test_command_line_to_verified_plan(self):
        (self.folder / "mine.py").write_text(
            "import torch\nfrom torch import nn\n"
            "def mlp(hidden):\n"
            "    model = nn.Sequential(*(nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU()) for _ in range(2)))\n"
            "    x = torch.zeros(256, hidden)\n"
            "    return model, x, torch.zeros_like(x), nn.functional.mse_loss\n"
        )
        script = str(scripts / "export_torch_graph.py")
        for model, optimizer in (("mine.py:mlp", "sgd"), ("mine:mlp", "adam")):
            options = ["--model", model, "--model-arg", "hidden=512", "--optimizer", optimizer]
            code, output, errors = self.run_here(*options, "--out", "a.json", "--json")
            self.assertEqual(code, 0, errors)
            summary = json.loads(output)
            self.assertEqual(summary["parameter_bytes"], 2 * (512 * 512 + 512) * 4)
            self.assertEqual(summary["state_bytes"], summary["parameter_bytes"] * (2 if optimizer == "adam" else 1))
            self.run_program(sys.executable, "-B", script, *options, "--out", "b.json")
            self.assertEqual((self.folder / "a.json").read_bytes(), (self.folder / "b.json").read_bytes())
            plan = [binary, "plan", "--graph", "a.json", "--device", "v100-16g", "--memory-limit", "70%"]
            plan += ["--planner", "belady", "--quiet", "--json", "--out", "plan.json"]
            predicted = json.loads(self.run_program(*plan))["predicted"]
            self.assertGreater(predicted["swap_in_bytes"], 0)
            self.assertAlmostEqual(predicted["ideal_seconds"], summary["ideal_seconds"], places=9)
            self.assertTrue(json.loads(self.run_program(binary, "verify", "--json", "plan.json"))["valid"])

    def test_command_line_errors(self):
        for arguments, expected, words in (
            (["--model", "nosuch:model", "--out", "g.json"], 1, "cannot load nosuch"),
            (["--model", "mine.py:f", "--out", "g.json"], 1, "cannot load mine.py"),
            (["--model", "m:f", "--optimizer", "sdg", "--out", "g.json"], 2, "sdg"),
            (["--model", "m:f"], 2, "--out"),
        ):
            code, output, errors = self.run_here("--quiet", *arguments)
            self.assertEqual((code, output), (expected, ""), errors)
            self.assertIn(words, errors)
        self.assertFalse((self.folder / "g.json").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
