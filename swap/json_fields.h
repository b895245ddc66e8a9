// Checked access to JSON that came from outside. Internal to swap/.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace swapadvisor {

/// The fields of one JSON object. Every getter throws `Error` that names the place and the field when the
/// field is missing (unless there is a default), has another type or is out of range.
class JsonFields {
 public:
  /// `where`: "plan.json: op 3", the start of messages. Throws when `value` is not an object.
  JsonFields(const nlohmann::json& value, std::string where);

  const std::string& where() const { return where_; }
  bool has(const char* name) const { return object_->contains(name); }

  /// Integers may be written as 1.5e9, as long as they are whole.
  std::int64_t integer(const char* name, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> missing = std::nullopt) const;
  double number(const char* name, double low, double high,
                std::optional<double> missing = std::nullopt) const;
  bool boolean(const char* name, bool missing) const;
  std::string text(const char* name, std::optional<std::string> missing = std::nullopt) const;
  std::uint64_t unsigned_integer(const char* name, std::uint64_t missing) const;
  /// An array; a missing one is empty unless `required`.
  const nlohmann::json& array(const char* name, bool required) const;
  /// Whole numbers from 0 to 2^31 - 1.
  std::vector<std::int32_t> indices(const char* name, bool required) const;
  std::vector<std::int64_t> integers(const char* name, std::int64_t low, std::int64_t high) const;

 private:
  template <class Integer>
  std::vector<Integer> elements(const char* name, std::int64_t low, std::int64_t high, bool required) const;
  const nlohmann::json* find(const char* name, bool required) const;

  const nlohmann::json* object_;
  std::string where_;
};

}  // namespace swapadvisor
