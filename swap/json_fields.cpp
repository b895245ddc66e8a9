#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/json_fields.h>

#include <cmath>

namespace swapadvisor {
namespace {

using nlohmann::json;

// `what()` names the value, and is only called for messages.
template <class What>
std::int64_t to_integer(const json& value, std::int64_t low, std::int64_t high, What what) {
  std::int64_t integer = 0;
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail("{} is {}: expected {} to {}", what(), wide, low, high);
    integer = static_cast<std::int64_t>(wide);
  } else if (value.is_number_integer()) {
    integer = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const double real = value.get<double>();
    if (!(std::abs(real) < 9223372036854775808.0) || real != std::floor(real))
      fail("{} is {}: expected a whole number from {} to {}", what(), real, low, high);
    integer = static_cast<std::int64_t>(real);
  } else {
    fail("{} is not a number", what());
  }
  if (integer < low || integer > high) fail("{} is {}: expected {} to {}", what(), integer, low, high);
  return integer;
}

}  // namespace

JsonFields::JsonFields(const json& value, std::string where) : object_(&value), where_(std::move(where)) {
  if (!value.is_object()) fail("{} is not a JSON object", where_);
}

const json* JsonFields::find(const char* name, bool required) const {
  const auto it = object_->find(name);
  if (it != object_->end()) return &*it;
  if (required) fail("{} has no '{}'", where_, name);
  return nullptr;
}

std::int64_t JsonFields::integer(const char* name, std::int64_t low, std::int64_t high,
                                 std::optional<std::int64_t> missing) const {
  const json* field = find(name, !missing);
  return field ? to_integer(*field, low, high, [&] { return fmt::format("{}: '{}'", where_, name); })
               : *missing;
}

std::uint64_t JsonFields::unsigned_integer(const char* name, std::uint64_t missing) const {
  const json* field = find(name, false);
  if (!field) return missing;
  if (!field->is_number_unsigned()) fail("{}: '{}' is not a whole number from 0 to 2^64 - 1", where_, name);
  return field->get<std::uint64_t>();
}

double JsonFields::number(const char* name, double low, double high, std::optional<double> missing) const {
  const json* field = find(name, !missing);
  if (!field) return *missing;
  if (!field->is_number()) fail("{}: '{}' is not a number", where_, name);
  const double number = field->get<double>();
  if (!(number >= low && number <= high))
    fail("{}: '{}' is {}: expected {} to {}", where_, name, number, low, high);
  return number;
}

bool JsonFields::boolean(const char* name, bool missing) const {
  const json* field = find(name, false);
  if (!field) return missing;
  if (!field->is_boolean()) fail("{}: '{}' is not true or false", where_, name);
  return field->get<bool>();
}

std::string JsonFields::text(const char* name, std::optional<std::string> missing) const {
  const json* field = find(name, !missing);
  if (!field) return *missing;
  if (!field->is_string()) fail("{}: '{}' is not a string", where_, name);
  return field->get<std::string>();
}

const json& JsonFields::array(const char* name, bool required) const {
  static const json empty = json::array();
  const json* field = find(name, required);
  if (!field) return empty;
  if (!field->is_array()) fail("{}: '{}' is not an array", where_, name);
  return *field;
}

std::vector<std::int32_t> JsonFields::indices(const char* name, bool required) const {
  return elements<std::int32_t>(name, 0, std::numeric_limits<std::int32_t>::max(), required);
}

std::vector<std::int64_t> JsonFields::integers(const char* name, std::int64_t low, std::int64_t high) const {
  return elements<std::int64_t>(name, low, high, true);
}

template <class Integer>
std::vector<Integer> JsonFields::elements(const char* name, std::int64_t low, std::int64_t high,
                                          bool required) const {
  const json& list = array(name, required);
  std::vector<Integer> result;
  result.reserve(list.size());
  for (const json& element : list) {
    const auto what = [&] { return fmt::format("{}: element {} of '{}'", where_, result.size(), name); };
    result.push_back(static_cast<Integer>(to_integer(element, low, high, what)));
  }
  return result;
}

}  // namespace swapadvisor
