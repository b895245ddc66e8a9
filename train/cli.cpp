#include <swapadvisor/core/file.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/image_folder.h>

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <system_error>

namespace swapadvisor {
namespace {

void add_commands(CLI::App& app) {
  add_train_command(app);
  add_eval_command(app);
  add_step_command(app);
  add_profile_command(app);
  add_plan_command(app);
  add_compare_command(app);
  add_simulate_command(app);
  add_verify_command(app);
  add_cache_command(app);
  add_export_command(app);
  add_list_commands(app);
}

/// One line that a terminal can show, whatever names from a file are in the sentence.
std::string printable(const std::string& sentence) {
  constexpr std::size_t longest = 2000;
  std::string line;
  for (char c : sentence) {
    const auto byte = static_cast<unsigned char>(c);
    if (line.size() >= longest && (byte & 0xc0) != 0x80) return line + "…";  // between two characters of UTF-8
    if (byte < 0x20 || byte == 0x7f) line += fmt::format("\\x{:02x}", byte);
    else line += c;
  }
  return line;
}

int complain(const std::string& sentence, int code) {
  std::fprintf(stderr, "swapadvisor: %s\n", printable(sentence).c_str());
  return code;
}

/// What is printed must arrive: a full disk behind standard output is a failure.
int finish(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return complain("cannot write to standard output", 1);
}

void check_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  throw CLI::ValidationError(fmt::format("unknown command '{}': expected one of {}", argv[1], known));
}

/// A path or name that is empty comes from a variable that is not set: it must not count as an option not given.
void refuse_empty_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    for (CLI::Option* option : command->get_options())
      if (option->get_items_expected_max() > 0)
        option->check([](const std::string& value) { return std::string(value.empty() ? "its value is empty" : ""); });
}

}  // namespace

int run_command_line(int argc, const char* const* argv, std::initializer_list<AddCommand> more) {
  CLI::App app{"Trains neural networks that do not fit in device memory: order, addresses, swaps and recompute of "
               "every step are planned before the first one.",
               "swapadvisor"};
  app.set_version_flag("--version", "swapadvisor " SWAPADVISOR_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(38);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit becomes an error of the write, with a sentence
  try {
    add_commands(app);
    for (AddCommand add : more) add(app);
    refuse_empty_values(app);
    check_command(app, argc, argv);
    app.parse(argc, argv);
    return finish(0);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish(app.exit(error));
    return complain(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}

void print_json(const nlohmann::ordered_json& object) { std::printf("%s\n", object.dump().c_str()); }

void OutputOptions::add_to(CLI::App& command) {
  command.add_flag("--json", json, "Print one JSON object on standard output");
  command.add_flag("--quiet", quiet, "No progress");
}

void TaskOptions::add_to(CLI::App& command, bool model_required) {
  auto* positional = add_checked(command, "MODEL", model, "Model name; `swapadvisor models` lists them",
                                 [](const std::string& name) { find_model(name); });
  if (model_required) positional->required();
  const std::string group = "Model and data (what is not given is the model's own: docs/models.md)";
  const auto number = [&](const std::string& name, std::optional<std::int64_t>& value, const std::string& help) {
    command.add_option(name, value, help)->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))->group(group);
  };
  number("--image-size", model_options.image_size, "Height and width of the images");
  number("--channels", model_options.channels, "Channels of the images");
  number("--classes", model_options.classes, "Classes");
  number("--width", model_options.width, "Channels after the stem; wrn28-10: how many times as wide; nasnet-a: filters");
  number("--hidden", model_options.hidden, "Features of a hidden layer");
  number("--layers", model_options.layers, "Layers; of the mlp: hidden ones");
  number("--depth", model_options.depth, "Depth of a network that comes in several");
  number("--cells", model_options.cells, "NASNet: cells of the network");
  number("--heads", model_options.heads, "Attention heads");
  number("--seq-len", model_options.seq_len, "Models of text: tokens of a sample");
  number("--vocab", model_options.vocab, "Models of text: different tokens");
  command.add_option("--cell", model_options.cell, "Recurrent networks: kind of cell, lstm or gru")->group(group);
  command.add_option("--dropout", model_options.dropout, "Dropout probability")
      ->check(finite_range(0, 1, Ends::below_high))
      ->group(group);
  command.add_option("--drop-path", model_options.drop_path, "NASNet: probability that a branch of the last cell is dropped")
      ->check(finite_range(0, 1, Ends::below_high))
      ->group(group);
  command.add_option("--drop-path-steps", model_options.drop_path_steps,
                     "NASNet: steps over which --drop-path rises from 0, such as those of the run; 0 (default): it does not")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->group(group);
  command.add_option("--auxiliary-weight", model_options.auxiliary_weight,
                     "NASNet: weight of the loss of an auxiliary classifier; 0: there is none")
      ->check(finite_range(0, 1e6))
      ->group(group);
  std::string kinds;
  std::vector<std::string> known;
  for (std::string_view kind : dataset_kinds()) {
    known.emplace_back(kind);
    kinds += (kinds.empty() ? "" : ", ") + known.back();
  }
  command.add_option("--dataset", dataset, "Kind of data: " + kinds)
      ->check(CLI::IsMember(known))
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--data", data,
          "The data: folder of MNIST's IDX files, of CIFAR's binary version, of images in folders by class "
          "(imagefolder), or a text file, .gz too")
      ->group(group);
  command
      .add_option("--vocab-file", vocab_file,
                  "text: WordPiece vocab.txt or byte-level BPE vocab.json; default: bytes")
      ->group(group);
  command.add_option("--merges-file", merges_file, "text: BPE merges; default: merges.txt beside vocab.json")
      ->group(group);
  command.add_option("--batch-size", batch_size, "Samples that pass through the model together")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--accumulate", accumulate,
          "Batches whose gradients are accumulated for one step, which is then one of K times the batch size")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--precision", precision,
                  "fp32, or bf16: compute in bfloat16, keep and train float32 parameters")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str()
      ->group(group);
}

DType TaskOptions::dtype() const {
  return precision == "bf16" ? DType::bf16 : DType::f32;
}

std::unique_ptr<Dataset> TaskOptions::open(Split split, std::uint64_t seed) const {
  if (dataset != "synthetic" && data.empty())
    throw CLI::ValidationError(fmt::format("--dataset {} needs --data, the {}", dataset,
                                           dataset == "text" ? "file" : "folder of its files"));
  if (dataset != "text" && !(vocab_file.empty() && merges_file.empty()))
    throw CLI::ValidationError(
        fmt::format("--vocab-file and --merges-file are for --dataset text, not {}", dataset));
  DatasetOptions options = dataset_options(as_usage([&] { return find_model(model, model_options); }));
  options.seed = seed;
  options.vocab_file = vocab_file;
  options.merges_file = merges_file;
  options.size = std::max<std::int64_t>(options.size, batch_size * accumulate * 2);
  return open_dataset(dataset, data, split, options);
}

std::unique_ptr<Dataset> TaskOptions::open_test(std::uint64_t seed) const {
  if (dataset == "synthetic" || (dataset == "imagefolder" && !has_test_images(data))) return nullptr;
  return open(Split::test, seed);
}

Model TaskOptions::settle(const Dataset& data_set) const {
  ModelOptions options = model_options;
  const DataSizes sizes = data_set.sizes();
  const auto decide = [&](std::optional<std::int64_t>& option, const std::optional<std::int64_t>& value,
                          const char* what) {
    if (!value) return;
    if (option && *option != *value)
      fail("{} {} was asked for, but the {} data have {}", what, *option, dataset, *value);
    option = value;
  };
  decide(options.image_size, sizes.image_size, "image size");
  decide(options.channels, sizes.channels, "channels");
  decide(options.classes, sizes.classes, "classes");
  if (sizes.vocab && options.vocab.value_or(*sizes.vocab) < *sizes.vocab)
    fail("vocabulary {} was asked for, but the {} data have {} tokens", *options.vocab, dataset,
         *sizes.vocab);
  if (!options.vocab) options.vocab = sizes.vocab;
  return find_model(model, options);
}

StepOptions TaskOptions::step_options(const Dataset& data_set) const {
  StepOptions options;
  options.batch_size = batch_size;
  options.micro_batches = accumulate;
  options.dtype = dtype();
  options.mean = data_set.mean();
  options.deviation = data_set.deviation();
  return options;
}

void OptimizerCommandOptions::add_to(CLI::App& command) {
  const std::string group = "Optimizer";
  command.add_option("--optimizer", optimizer.name, "Optimizer: sgd, adam, adamw or lamb")
      ->check(CLI::IsMember(optimizer_names()))
      ->capture_default_str()
      ->group(group);
  const auto number = [&](const std::string& name, auto& value, const std::string& help, double most,
                          Ends ends = Ends::both) {
    return command.add_option(name, value, help)->check(finite_range(0, most, ends))->group(group);
  };
  number("--lr", learning_rate, "Learning rate [0.1; adam, adamw, lamb: 0.001]", 1e30);
  of_sgd_.push_back(
      number("--momentum", optimizer.momentum, "sgd: momentum", 1, Ends::below_high)->capture_default_str());
  number("--weight-decay", optimizer.weight_decay,
         "Weight decay: part of the gradient; adamw, lamb: of the step [0; adamw, lamb: 0.01]", 1e30);
  of_sgd_.push_back(
      command.add_flag("--nesterov", optimizer.nesterov, "sgd: Nesterov momentum")->group(group));
  of_adam_ = {
      number("--beta1", optimizer.beta1, "adam, adamw, lamb: decay of the gradients' mean", 1, Ends::below_high)
          ->capture_default_str(),
      number("--beta2", optimizer.beta2, "adam, adamw, lamb: decay of the squared gradients' mean", 1, Ends::below_high)
          ->capture_default_str(),
      number("--eps", optimizer.epsilon, "adam, adamw, lamb: added to the divisor [1e-8; lamb: 1e-6]", 1e30)};
  command
      .add_option("--clip", optimizer.clip_norm,
                  "Largest norm of all gradients together: above it they are scaled down")
      ->check(finite_range(0, 1e30, Ends::above_low))
      ->group(group);
  command
      .add_option("--ema", optimizer.ema_decay,
                  "Keep moving averages of the parameters with this decay; train evaluates and writes them")
      ->check(finite_range(0, 1, Ends::neither))
      ->group(group);
  number("--label-smoothing", label_smoothing,
         "Share of each target that is spread evenly over all classes, in training", 1)->capture_default_str();
}

void OptimizerCommandOptions::check_usage() const {
  for (const CLI::Option* option : optimizer.name == "sgd" ? of_adam_ : of_sgd_)
    if (option->count() > 0)
      throw CLI::ValidationError(fmt::format("{} is not an option of {}", option->get_name(), optimizer.name));
  as_usage([&] { check(optimizer); });
}

void PlanCommandOptions::add_to(CLI::App& command) {
  const std::string group = "Memory and planning";
  add_checked(command, "--memory-limit", memory_limit,
              "Device memory to use: 512MiB, 1.5GB, or 40% of what the model needs; default: all of the device",
              [](const std::string& text) { parse_size_limit(text); })
      ->group(group);
  add_checked(command, "--host-limit", host_limit, "Host memory for swapping; default: unbounded",
              [](const std::string& text) { parse_size(text); })
      ->group(group);
  add_checked(command, "--planner", planner,
              std::string("Planner; `swapadvisor planners` lists them. Default: none if everything fits, else ") +
                  default_planner,
              [](const std::string& name) { make_planner(name); })
      ->group(group);
  command.add_option("--search-seconds", search_seconds, "Search budget in seconds; 0: the default, 10 if there is none in evaluations")
      ->check(finite_range(0, 1e9))
      ->group(group);
  command.add_option("--search-evaluations", search_evaluations, "Search budget in evaluations, exact")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 60))
      ->group(group);
  command
      .add_flag("--no-cache", no_cache,
                "Neither use nor store searched plans; `swapadvisor cache` shows those there are")
      ->group(group);
}

double PlanCommandOptions::search_budget_seconds() const {
  constexpr double default_seconds = 10;
  return search_seconds > 0 || search_evaluations > 0 ? search_seconds : default_seconds;
}

std::optional<SizeLimit> PlanCommandOptions::limit() const {
  if (memory_limit.empty()) return std::nullopt;
  return parse_size_limit(memory_limit);
}

std::int64_t PlanCommandOptions::host_bytes() const {
  return host_limit.empty() ? DeviceSpec::unbounded : parse_size(host_limit);
}

std::function<void(const PlanProgress&)> report_search(ProgressReporter& reporter, double search_seconds,
                                                       std::int64_t search_evaluations) {
  return [&reporter, search_seconds, search_evaluations](const PlanProgress& progress) {
    SearchProgress shown;
    if (search_seconds > 0) shown.share = progress.seconds / search_seconds;
    if (search_evaluations > 0)
      shown.share = std::max(shown.share, static_cast<double>(progress.evaluations) /
                                              static_cast<double>(search_evaluations));
    shown.evaluations = progress.evaluations;
    if (progress.best_iteration_seconds > 0)
      shown.efficiency = progress.ideal_seconds / progress.best_iteration_seconds;
    shown.elapsed_seconds = progress.seconds;
    reporter.update(shown, progress.seconds);
  };
}

CLI::Validator whole_seed() {
  return CLI::Validator(
      [](const std::string& text) {
        std::uint64_t seed = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        return whole ? std::string() : fmt::format("'{}' is no seed: a whole number from 0 to 2^64 - 1", text);
      },
      "0 to 2^64 - 1");
}

CLI::Validator finite_range(double low, double high, Ends ends) {
  const bool above = ends == Ends::above_low || ends == Ends::neither;
  const bool below = ends == Ends::below_high || ends == Ends::neither;
  const std::string range = fmt::format("{}{:g} - {:g}{}", above ? '(' : '[', low, high, below ? ')' : ']');
  return CLI::Validator(
      [=](const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool number = !text.empty() && *end == '\0';
        if (number && (above ? value > low : value >= low) && (below ? value < high : value <= high))
          return std::string();
        return fmt::format("'{}' is not a number in {}", text, range);
      },
      "FLOAT in " + range);
}

void warn(const std::string& sentence) {
  std::fprintf(stderr, "swapadvisor: warning: %s\n", sentence.c_str());
}

void check_writable(std::initializer_list<std::string> paths) {
  for (auto path = paths.begin(); path != paths.end(); ++path)
    if (!path->empty() && !path->starts_with("/dev/") && std::find(paths.begin(), path, *path) != path)
      fail("{}: two outputs of this command would be written to this file", *path);
  for (const std::string& path : paths)
    if (!path.empty()) AtomicFile probe(path);  // never committed: leaves nothing
}

InterruptStop::InterruptStop() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::jthread([this, set](const std::stop_token& done) {
    const timespec tick{0, 100'000'000};
    while (!done.stop_requested()) {
      if (sigtimedwait(&set, nullptr, &tick) != SIGINT) continue;
      interrupt();
    }
  });
}

InterruptStop::~InterruptStop() = default;

void InterruptStop::interrupt() {
  const std::lock_guard lock(part_mutex_);
  if (part_ != nullptr && part_->request_stop()) return;
  if (!source_.request_stop()) std::_Exit(130);
}

InterruptPart::InterruptPart(InterruptStop& whole) : whole_(whole) {
  const std::lock_guard lock(whole_.part_mutex_);
  SWAPADVISOR_ASSERT(whole_.part_ == nullptr, "a second part of the work while there is one");
  whole_.part_ = &source_;
  if (whole_.source_.stop_requested()) source_.request_stop();
}

InterruptPart::~InterruptPart() {
  const std::lock_guard lock(whole_.part_mutex_);
  whole_.part_ = nullptr;
}

}  // namespace swapadvisor
