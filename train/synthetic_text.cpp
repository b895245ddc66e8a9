#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/synthetic.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr double hidden_share = 0.15;

enum class Role : std::uint8_t { sequence, same, next, hidden, label, constant };

class SyntheticText : public Dataset {
 public:
  SyntheticText(Split split, const DatasetOptions& options)
      : options_(options),
        vocab_(options.inputs.front().below),
        key_(hash_name(name_of(split), hash_name("dataset.text.")) ^ options.seed) {
    for (std::size_t i = 0; i < options.inputs.size(); ++i)
      add(options.inputs[i], i == 0 ? Role::sequence : Role::constant);
    for (const ModelInput& target : options.targets) add(target, role_of(target));
  }

  std::int64_t size() const override { return options_.size; }
  const std::vector<Field>& fields() const override { return fields_; }

  void read(std::int64_t index, const SampleDraw&, std::span<const std::span<std::byte>> out) const override {
    SWAPADVISOR_ASSERT(index >= 0 && index < size(), "sample {} of {}", index, size());
    const RandomStream random{key_ ^ static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u, 1};
    const auto label = std::int64_t{random.below(0, static_cast<std::uint32_t>(classes()))};
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(fields_.front().shape.numel()) + 1);
    tokens[0] = static_cast<std::int32_t>(random.below(1, static_cast<std::uint32_t>(vocab_)));
    for (std::size_t t = 1; t < tokens.size(); ++t)
      tokens[t] = random.below(4 * t, 8) == 0
                      ? static_cast<std::int32_t>(random.below(4 * t + 1, static_cast<std::uint32_t>(vocab_)))
                      : follower(tokens[t - 1], label);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const std::span values(reinterpret_cast<std::int32_t*>(out[f].data()),
                             out[f].size() / sizeof(std::int32_t));
      fill(f, tokens, label, random, values);
    }
  }

 private:
  void add(const ModelInput& input, Role role) {
    if (input.dtype != DType::i32 || input.below < 1)
      fail("synthetic text has no values for '{}': it must be i32 with a bound", input.name);
    const bool target = role != Role::sequence && role != Role::constant;
    fields_.push_back({input.name, DType::i32, input.shape,
                       target ? std::int64_t{ignored_label} : input.otherwise.value_or(0)});
    roles_.push_back(role);
    bounds_.push_back(input.below);
    constants_.push_back(static_cast<std::int32_t>(input.otherwise.value_or(0)));
    if (role == Role::label) classes_ = std::min(std::max<std::int64_t>(classes_, 2), input.below);
  }

  Role role_of(const ModelInput& target) const {
    if (target.shape != options_.inputs.front().shape) return Role::label;
    if (options_.task == Task::masked_language_modelling) return Role::hidden;
    return target.name == "labels" ? Role::same : Role::next;
  }

  std::int64_t classes() const { return std::max<std::int64_t>(1, classes_); }

  std::int32_t follower(std::int32_t token, std::int64_t label) const {
    return static_cast<std::int32_t>((std::int64_t{token} * 5 + 7 + 11 * label) % vocab_);
  }

  bool hides(const RandomStream& random, std::size_t t) const {
    return options_.task == Task::masked_language_modelling && random.uniform(4 * (t + 1) + 2) < hidden_share;
  }

  void fill(std::size_t f, const std::vector<std::int32_t>& tokens, std::int64_t label,
            const RandomStream& random, std::span<std::int32_t> out) const {
    const auto own = static_cast<std::int32_t>(label % bounds_[f]);
    for (std::size_t t = 0; t < out.size(); ++t) switch (roles_[f]) {
        case Role::sequence:
          out[t] = hides(random, t) ? 0 : tokens[t];
          break;
        case Role::same:
          out[t] = tokens[t];
          break;
        case Role::next:
          out[t] = tokens[t + 1];
          break;
        case Role::hidden:
          out[t] = hides(random, t) ? tokens[t] : ignored_label;
          break;
        case Role::label:
          out[t] = own;
          break;
        case Role::constant:
          out[t] = constants_[f];
          break;
      }
  }

  DatasetOptions options_;
  std::int64_t vocab_, classes_ = 0;
  std::uint64_t key_;
  std::vector<Field> fields_;
  std::vector<Role> roles_;
  std::vector<std::int64_t> bounds_;
  std::vector<std::int32_t> constants_;
};

}  // namespace

std::unique_ptr<Dataset> make_synthetic_text(Split split, const DatasetOptions& options) {
  if (options.size < 1) fail("a synthetic data set needs at least one sample, got {}", options.size);
  if (options.inputs.empty()) fail("synthetic text needs to know what the model takes");
  return std::make_unique<SyntheticText>(split, options);
}

}  // namespace swapadvisor
