// export: the weights of a checkpoint, for evaluation and for other frameworks.
#include <swapadvisor/train/checkpoint.h>
#include <swapadvisor/train/cli.h>

#include <filesystem>

namespace swapadvisor {
namespace {

struct ExportCommand {
  OutputOptions output;
  std::string checkpoint, out;
  bool ema = false;
};

/// The file itself, or the newest one of a folder.
std::string checkpoint_file(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return path;
  const std::vector<std::string> found = CheckpointFolder(path, 1).list();
  if (found.empty()) fail("{}: there is no checkpoint in this folder", path);
  return found.front();
}

void run_export(const ExportCommand& c) {
  check_writable({c.out});
  const std::string path = checkpoint_file(c.checkpoint);
  const CheckpointState state = read_checkpoint(path);
  const int tensors = export_checkpoint(path, c.out, c.ema);
  if (c.output.json)
    print_json({{"checkpoint", path}, {"model", state.model}, {"steps", state.steps}, {"tensors", tensors}});
  else if (c.output.people())
    fmt::print("{}: {} tensors of {} after {} steps\n", c.out, tensors, state.model, state.steps);
}

}  // namespace

void add_export_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "export", "Write the weights of a checkpoint to a safetensors file, with PyTorch's names");
  auto c = std::make_shared<ExportCommand>();
  c->output.add_to(*command);
  command->add_option("CHECKPOINT", c->checkpoint, "A checkpoint, or a folder of them: its newest one")
      ->required();
  command->add_option("--out", c->out, "The weights (safetensors)")->required();
  command->add_flag("--ema", c->ema, "The moving averages in the place of the parameters (train --ema)");
  command->callback([c] { run_export(*c); });
}

}  // namespace swapadvisor
