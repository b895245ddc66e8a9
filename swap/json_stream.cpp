#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/json_stream.h>

#include <algorithm>

namespace swapadvisor {
namespace {

using nlohmann::json;

constexpr int deepest_nesting = 64;
constexpr std::size_t longest_token = std::size_t{1} << 20;
constexpr std::size_t most_parts = std::size_t{1} << 20;

// The parser copies a string or number whole before anybody sees it. Text that is not JSON may be cut into
// other tokens here than there, but never into shorter ones than those the parser would read before its
// error.
void check_tokens(std::string_view text, const std::string& source) {
  std::size_t begin = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string ? c == '"' : std::string_view(" \t\r\n[]{},:").find(c) != std::string_view::npos) {
      begin = i + 1;
      in_string = false;
    } else if (c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = true;
      begin = i + 1;
    }
    if (i + 1 > begin + longest_token)
      fail("{}: the string or number at byte {} is longer than {} bytes", source, begin + 1, longest_token);
  }
}

// "plan.json: op 3 'conv1'"
std::string entry_name(const std::string& where, const std::string& entry, std::size_t index,
                       const json& value) {
  std::string name = fmt::format("{}: {} {}", where, entry, index);
  if (!value.is_object()) return name;
  const auto found = value.find("name");
  if (found != value.end() && found->is_string())
    name += fmt::format(" '{}'", found->get_ref<const std::string&>());
  return name;
}

class Handler : public json::json_sax_t {
 public:
  Handler(std::string_view text, JsonSection& root) : text_(text), root_(&root) {}

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return start(json::object()); }
  bool start_array(std::size_t) override { return start(json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override;
  bool parse_error(std::size_t byte, const std::string& token, const json::exception& error) override;

 private:
  // What the next value is, outside one that is being built.
  enum class Expected { root, skipped, kept, list, element, section };

  bool scalar(json value);
  bool start(json value);
  bool end();
  bool section_key(const std::string& name);
  json* add(json value);
  void complete();
  std::string where() const;

  std::string_view text_;
  JsonSection* root_;
  std::vector<JsonSection*> open_;
  Expected expected_ = Expected::root;
  int depth_ = 0;
  int skipped_ = 0;  // brackets open in a value that nobody wants

  const std::string* field_ = nullptr;  // of the section: its name where the section keeps it
  JsonList* list_ = nullptr;
  std::size_t index_ = 0;  // in the list
  JsonSection* next_section_ = nullptr;

  json value_;                   // being built
  std::vector<json*> building_;  // its open brackets; a container does not grow while one within is open
  json* slot_ = nullptr;         // where the next value of the innermost object goes
  std::size_t parts_ = 0;
};

std::string Handler::where() const {
  const std::string& section = open_.empty() ? root_->where : open_.back()->where;
  if (list_) return entry_name(section, list_->entry, index_, value_);
  return section;
}

bool Handler::key(string_t& name) {
  if (skipped_ > 0) return true;
  if (building_.empty()) return section_key(name);
  const auto [place, is_new] = building_.back()->emplace(name, nullptr);
  if (!is_new) fail("{} has '{}' twice", where(), name);
  slot_ = &*place;
  return true;
}

bool Handler::section_key(const std::string& name) {
  JsonSection& section = *open_.back();
  expected_ = Expected::skipped;
  const auto named = [&](const auto& item) { return item == name; };
  if (const auto kept = std::find_if(section.names.begin(), section.names.end(), named);
      kept != section.names.end()) {
    expected_ = Expected::kept;
    field_ = &*kept;
  }
  for (JsonList& list : section.lists) {
    if (list.name != name) continue;
    expected_ = Expected::list;
    list_ = &list;
  }
  for (auto& [field, inner] : section.sections) {
    if (field != name) continue;
    expected_ = Expected::section;
    next_section_ = inner;
  }
  if (expected_ != Expected::skipped && !section.values.emplace(name, nullptr).second)
    fail("{} has '{}' twice", section.where, name);
  return true;
}

bool Handler::scalar(json value) {
  if (skipped_ > 0) return true;
  if (!building_.empty()) {
    add(std::move(value));
    return true;
  }
  switch (expected_) {
    case Expected::skipped:
      return true;
    case Expected::kept:
    case Expected::element:
      value_ = std::move(value);
      complete();
      return true;
    case Expected::list:
      fail("{}: '{}' is not an array", open_.back()->where, list_->name);
    case Expected::root:
      fail("{} is not a JSON object", root_->where);
    case Expected::section:
      fail("{} is not a JSON object", next_section_->where);
  }
  return true;
}

bool Handler::start(json value) {
  if (++depth_ > deepest_nesting) fail("{}: nested deeper than {} levels", where(), deepest_nesting);
  if (skipped_ > 0 || (building_.empty() && expected_ == Expected::skipped)) {
    ++skipped_;
    return true;
  }
  if (!building_.empty()) {
    building_.push_back(add(std::move(value)));
    return true;
  }
  const bool object = value.is_object();
  if (expected_ == Expected::root && object) {
    open_.push_back(root_);
  } else if (expected_ == Expected::section && object) {
    open_.push_back(next_section_);
  } else if (expected_ == Expected::list && !object) {
    open_.back()->values[list_->name] = json::array();
    expected_ = Expected::element;
    index_ = 0;
  } else if (expected_ == Expected::kept || expected_ == Expected::element) {
    value_ = std::move(value);
    building_ = {&value_};
    parts_ = 0;
  } else {
    scalar(nullptr);  // has the messages
  }
  return true;
}

bool Handler::end() {
  --depth_;
  if (skipped_ > 0) {
    --skipped_;
  } else if (!building_.empty()) {
    building_.pop_back();
    if (building_.empty()) complete();
  } else if (list_) {
    list_ = nullptr;
  } else {
    open_.pop_back();
  }
  return true;
}

json* Handler::add(json value) {
  if (++parts_ > most_parts) fail("{} has more than {} parts", where(), most_parts);
  json& container = *building_.back();
  if (container.is_array()) {
    container.push_back(std::move(value));
    return &container.back();
  }
  *slot_ = std::move(value);
  return slot_;
}

// `value_` is whole.
void Handler::complete() {
  JsonSection& section = *open_.back();
  if (list_) {
    list_->take({value_, where()});
    value_ = nullptr;
    ++index_;
    return;
  }
  section.values[*field_] = std::move(value_);
  if (section.after_value) section.after_value();
}

bool Handler::parse_error(std::size_t byte, const std::string&, const json::exception& error) {
  // 406: a number that is JSON, and no double.
  if (error.id == 406) fail("{}: not valid JSON: a number is out of range before byte {}", where(), byte);
  const std::string_view rest = text_.substr(std::min(text_.size(), byte > 0 ? byte - 1 : 0));
  for (std::string_view word : {"NaN", "nan", "Infinity", "inf"})
    if (rest.starts_with(word)) fail("{}: not valid JSON at byte {}: {} is no number", where(), byte, word);
  if (std::string_view(error.what()).find("UTF-8") != std::string_view::npos)
    fail("{}: not valid JSON at byte {}: text that is not UTF-8", where(), byte);
  fail("{}: not valid JSON at byte {}", where(), byte);
}

}  // namespace

void read_json(std::string_view text, JsonSection& root) {
  check_tokens(text, root.where);
  Handler handler(text, root);
  json::sax_parse(text, &handler);
}

}  // namespace swapadvisor
