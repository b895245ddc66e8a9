#include <swapadvisor/train/checkpoint_options.h>

#include <utility>

namespace swapadvisor {

void CheckpointCommandOptions::add_to(CLI::App& command) {
  const std::string group = "Checkpoints";
  auto* where =
      command.add_option("--checkpoint-dir", folder, "Write checkpoints to this folder")->group(group);
  command
      .add_option("--checkpoint-every", every,
                  "Steps between checkpoints; default: one at the end of every epoch")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(where)
      ->group(group);
  command.add_option("--keep", keep, "How many of the newest checkpoints to keep")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str()
      ->needs(where)
      ->group(group);
  command
      .add_flag("--resume", resume,
                "Go on from the newest checkpoint of the folder, to the same bits as without interruption; "
                "from the "
                "beginning if there is none")
      ->needs(where)
      ->group(group);
}

RunCheckpoints::RunCheckpoints(const CheckpointCommandOptions& options, CheckpointState run)
    : options_(options), run_(std::move(run)) {
  if (options_.folder.empty()) return;
  folder_ = std::make_unique<CheckpointFolder>(options_.folder, options_.keep);
  if (!options_.resume) {
    if (!folder_->list().empty())
      fail(
          "{}: there are checkpoints of an earlier run; go on from them with --resume, or use another folder",
          options_.folder);
    return;
  }
  resumed_ = folder_->newest(warn);
  if (!resumed_) return;
  require_same_run(resumed_->path, resumed_->state, run_);
  if (resumed_->state.threads != run_.threads)
    warn(fmt::format(
        "{} was written by a run with {} threads, this one has {}: the last bits of sums may differ",
        resumed_->path, resumed_->state.threads, run_.threads));
}

void RunCheckpoints::set_up(TrainerOptions& options, std::int64_t steps_per_epoch) {
  if (!folder_) return;
  if (resumed_) {
    options.done_steps = resumed_->state.steps;
    options.done_loss = resumed_->state.loss;
    if (options.done_steps > options.steps)
      fail("{}: the checkpoint is of step {}, beyond the {} of this run", resumed_->path, options.done_steps,
           options.steps);
  }
  options.checkpoint_every = options_.every;
  options.on_checkpoint = [this, steps_per_epoch](std::int64_t steps, double loss) {
    SWAPADVISOR_ASSERT(graph_ != nullptr, "a checkpoint before the trainer was known");
    run_.steps = steps;
    run_.epoch = steps / steps_per_epoch;
    run_.loss = loss;
    folder_->save(*graph_, *host_, run_);
  };
}

void RunCheckpoints::load(const Trainer& trainer, HostStore& host) {
  graph_ = &trainer.graph();
  host_ = &host;
  if (resumed_) load_checkpoint(resumed_->path, *graph_, host);
}

}  // namespace swapadvisor
