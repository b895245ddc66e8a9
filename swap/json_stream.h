// Reads JSON from outside piece by piece: what nobody asked for is never stored, and of a long list there is
// one element at a time. Internal to swap/.
#pragma once

#include <swapadvisor/swap/json_fields.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swapadvisor {

/// A list within a section whose elements, JSON objects, are handed over one by one and then forgotten.
struct JsonList {
  std::string name;   ///< "ops"
  std::string entry;  ///< "op": what messages call one of them
  std::function<void(const JsonFields&)> take;
};

/// One JSON object as it is read: which of its fields are wanted, and their values once they are there.
/// Fields not named here are skipped.
struct JsonSection {
  std::string where;               ///< "plan.json: graph", the start of messages
  std::vector<std::string> names;  ///< fields kept whole in `values`
  std::vector<JsonList> lists;     ///< `values` holds an empty list for each found
  std::vector<std::pair<std::string, JsonSection*>> sections;  ///< objects within; `values` holds a null
  std::function<void()> after_value;                           ///< called after each field kept whole
  nlohmann::json values = nlohmann::json::object();

  JsonFields fields() const { return {values, where}; }
};

/// Reads the object `text` into `root`. Throws `Error` naming place and byte or entry: bad JSON, text that is
/// not UTF-8, numbers that overflow, a wanted field given twice, nesting beyond 64 levels, a string or number
/// of more than 1 MiB, an element or a value kept whole of more than 2^20 parts; and what `take` and
/// `after_value` throw. Memory: one element and the values kept, beside what the callbacks store.
void read_json(std::string_view text, JsonSection& root);

}  // namespace swapadvisor
