// The files of train/report/, as the build embeds them. Internal.
#pragma once

#include <string_view>

namespace swapadvisor::report {

extern const std::string_view page_html;  ///< with {{title}}, {{style}}, {{script}} and {{data}} to fill in
extern const std::string_view page_style;
extern const std::string_view page_script;

}  // namespace swapadvisor::report
