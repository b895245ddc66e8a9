#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/json_fields.h>

#include <cmath>

namespace swapadvisor {
namespace {

using nlohmann::json;

constexpr int deepest_nesting = 64;

// Counts brackets outside strings. Text that is not JSON may be counted wrongly, but never too low for what a
// parser would nest before it stops at the error.
void check_nesting(std::string_view text, const std::string& source) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest_nesting)
        fail("{}: nested deeper than {} levels at byte {}", source, deepest_nesting, i);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

std::int64_t to_integer(const json& value, std::int64_t low, std::int64_t high, const std::string& what) {
  std::int64_t integer = 0;
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail("{} is {}: expected {} to {}", what, wide, low, high);
    integer = static_cast<std::int64_t>(wide);
  } else if (value.is_number_integer()) {
    integer = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const double real = value.get<double>();
    if (!(std::abs(real) < 9223372036854775808.0) || real != std::floor(real))
      fail("{} is {}: expected a whole number from {} to {}", what, real, low, high);
    integer = static_cast<std::int64_t>(real);
  } else {
    fail("{} is not a number", what);
  }
  if (integer < low || integer > high) fail("{} is {}: expected {} to {}", what, integer, low, high);
  return integer;
}

}  // namespace

json parse_json(std::string_view text, const std::string& source) {
  check_nesting(text, source);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail("{}: not valid JSON at byte {}", source, error.byte);
  } catch (const json::exception&) {
    fail("{}: not valid JSON: a number is out of range", source);
  }
}

JsonFields::JsonFields(const json& value, std::string where) : object_(&value), where_(std::move(where)) {
  if (!value.is_object()) fail("{} is not a JSON object", where_);
}

const json* JsonFields::find(const char* name, bool required) const {
  const auto it = object_->find(name);
  if (it != object_->end()) return &*it;
  if (required) fail("{} has no '{}'", where_, name);
  return nullptr;
}

const json& JsonFields::value(const char* name) const {
  return *find(name, true);
}

std::int64_t JsonFields::integer(const char* name, std::int64_t low, std::int64_t high,
                                 std::optional<std::int64_t> missing) const {
  const json* field = find(name, !missing);
  return field ? to_integer(*field, low, high, fmt::format("{}: '{}'", where_, name)) : *missing;
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

std::vector<std::int32_t> JsonFields::indices(const char* name, std::int64_t size, bool required) const {
  std::vector<std::int32_t> result;
  for (const json& element : array(name, required))
    result.push_back(static_cast<std::int32_t>(to_integer(
        element, 0, size - 1, fmt::format("{}: element {} of '{}'", where_, result.size(), name))));
  return result;
}

std::vector<std::int64_t> JsonFields::integers(const char* name, std::int64_t low, std::int64_t high) const {
  std::vector<std::int64_t> result;
  for (const json& element : array(name, true))
    result.push_back(
        to_integer(element, low, high, fmt::format("{}: element {} of '{}'", where_, result.size(), name)));
  return result;
}

}  // namespace swapadvisor
