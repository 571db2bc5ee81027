// Unicode's composed form (NFC): a letter and the marks behind it become one character where there is one.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace firn::genai {

/// `text`, which is valid UTF-8, in the form NFC. Linear but for a run of marks, which is sorted; text of ASCII is
/// copied.
Result<std::string> composed(std::string_view text);

}  // namespace firn::genai
