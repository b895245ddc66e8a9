#include <swapadvisor/train/run_identity.h>
#include <swapadvisor/train/schedule.h>

namespace swapadvisor {
namespace {

void add_model(std::map<std::string, std::string>& options, const ModelOptions& given,
               const ModelInfo& info) {
  const auto add = [&](const char* name, const auto& value) {
    if (value) options[name] = fmt::format("{}", *value);
  };
  add("width", given.width);
  add("hidden", given.hidden);
  add("layers", given.layers);
  add("dropout", given.dropout);
  add("depth", given.depth);
  add("heads", given.heads);
  add("cells", given.cells);
  add("cell", given.cell);
  if (info.takes_images()) {
    options["image-size"] = std::to_string(info.image_size);
    options["channels"] = std::to_string(info.channels);
    options["classes"] = std::to_string(info.classes);
  } else {
    options["seq-len"] = std::to_string(info.seq_len);
    options["vocab"] = std::to_string(info.vocab);
  }
}

void add_optimizer(std::map<std::string, std::string>& options, const OptimizerCommandOptions& command) {
  const OptimizerOptions& o = command.optimizer;
  const auto add = [&](const char* name, double value) { options[name] = fmt::format("{}", value); };
  options["optimizer"] = o.name;
  add("lr", command.rate());
  add("weight-decay", o.decay());
  add("label-smoothing", command.label_smoothing);
  if (o.clip_norm > 0) add("clip", o.clip_norm);
  if (o.ema_decay > 0) add("ema", o.ema_decay);
  if (o.name == "sgd") {
    add("momentum", o.momentum);
    options["nesterov"] = o.nesterov ? "on" : "off";
    return;
  }
  add("beta1", o.beta1);
  add("beta2", o.beta2);
  add("eps", o.divisor_epsilon());
}

}  // namespace

std::map<std::string, std::string> run_options(const TaskOptions& task, const Model& model,
                                               const Dataset& train, const OptimizerCommandOptions& optimizer,
                                               const RunIdentity& rest) {
  std::map<std::string, std::string> options{{"dataset", task.dataset},
                                             {"samples of the data", std::to_string(train.size())},
                                             {"batch-size", std::to_string(task.batch_size)},
                                             {"accumulate", std::to_string(task.accumulate)},
                                             {"last-batch", rest.last_batch},
                                             {"augment", rest.augment},
                                             {"lr-schedule", rest.schedule},
                                             {"warmup", std::to_string(rest.warmup)}};
  if (const std::string data = train.fingerprint(); !data.empty()) options["checksum of the data"] = data;
  if (task.dtype() == DType::bf16) options["precision"] = task.precision;
  add_model(options, task.model_options, model.info);
  add_optimizer(options, optimizer);
  for (const std::string& path : rest.frozen)
    options["freeze"] += (options["freeze"].empty() ? "" : ",") + path;
  const Schedule::Kind kind = parse_schedule(rest.schedule).kind;
  if (kind == Schedule::Kind::cosine || kind == Schedule::Kind::linear)
    options["steps"] = std::to_string(rest.steps);
  return options;
}

}  // namespace swapadvisor
