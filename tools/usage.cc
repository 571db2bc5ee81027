#include "tools/usage.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/joined.h"
#include "base/quote.h"
#include "base/status.h"
#include "tools/command.h"

namespace firn::tools {
namespace {

std::string namesOf(const CLI::App& app) {
  return joined(app.get_subcommands({}), ", ", [](const CLI::App* command) { return command->get_name(); });
}

const CLI::App* subcommandOf(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

/// As CLI11 tells them from texts: "- a list" and "---" are none.
bool isOption(const std::string& word) {
  std::string name;
  std::string value;
  return CLI::detail::split_long(word, name, value) || CLI::detail::split_short(word, name, value);
}

/// A look at the words before CLI11 reads them. What it leaves to CLI11: what is missing, and the values themselves.
class Words {
 public:
  explicit Words(const CLI::App& app) : command_(&app), path_(app.get_name()) {}

  Status check(std::span<char*> words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i];
      // Of a command that takes everything, firn-compile reads the rest.
      if (word == "--" || command_->get_prefix_command()) return Status::ok();
      if (isOption(words[i])) {
        FIRN_ASSIGN_OR_RETURN(const bool takesNext, option(word, words.subspan(i + 1)));
        i += takesNext ? 1 : 0;
        continue;
      }
      if (command_->get_subcommands({}).empty()) continue;
      const CLI::App* next = subcommandOf(*command_, word);
      if (next == nullptr) {
        return invalidArgument("there is no command " + firn::quoted(word) + "; the commands are " +
                               namesOf(*command_));
      }
      command_ = next;
      path_ += " " + next->get_name();
    }
    return Status::ok();
  }

  /// The commands read so far: "firn cache list".
  const std::string& path() const { return path_; }
  const CLI::App& command() const { return *command_; }

 private:
  /// An option and what belongs to it. True: the next word is its value.
  Result<bool> option(std::string_view word, std::span<char*> behind) {
    const bool isLong = word.starts_with("--");
    const size_t end = isLong ? std::min(word.find('='), word.size()) : 2;
    const std::string name(word.substr(0, end));
    const CLI::Option* option = command_->get_option_no_throw(name);
    if (option == nullptr) {
      return invalidArgument("there is no option " + firn::quoted(name) +
                             "; a text that begins with - stands behind --");
    }
    const bool isFlag = option->get_items_expected_max() == 0;
    const bool hasValue = end < word.size();
    if (isFlag) {
      if (isLong && hasValue)
        return invalidArgument(name + " takes no value, found " + firn::quoted(word.substr(end + 1)));
      return false;
    }
    if (!seen_.insert(option).second) return invalidArgument(name + " stands twice, expected once");
    const std::string expected = name + " needs a value (" + option->get_type_name() + "), found ";
    if (hasValue) {
      if (isLong && end + 1 == word.size()) return invalidArgument(expected + "nothing behind " + std::string(word));
      if (!isLong && word[2] == '=') {
        return invalidArgument(expected + firn::quoted(word.substr(2)) + "; it is written " + name + " VALUE");
      }
      return false;
    }
    if (behind.empty()) return invalidArgument(expected + "nothing behind it");
    const std::string_view value = behind.front();
    if (value.empty()) return invalidArgument(expected + "an empty one");
    if (value.starts_with("--")) {
      return invalidArgument(expected + firn::quoted(value) + " behind it; a value that begins with -- is written " +
                             name + "=VALUE");
    }
    return true;
  }

  const CLI::App* command_;
  std::string path_;
  std::set<const CLI::Option*> seen_;
};

/// CLI11's refusal in firn's words.
std::string reworded(const CLI::ParseError& error, const CLI::App& app, const CLI::App& command) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::vector<std::string> extra = app.remaining(true);
    std::erase(extra, "--");
    const bool isOption = !extra.empty() && extra.front().starts_with('-');
    return "found " + (extra.empty() ? text : firn::quoted(extra.front())) + " and expected nothing more; " +
           (isOption ? "options stand before --" : "a text of several words stands in quotes");
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    constexpr std::string_view kEnd = " is required";
    if (text == "A subcommand is required") return "a command is missing; the commands are " + namesOf(command);
    if (text.ends_with(kEnd)) return text.substr(0, text.size() - kEnd.size()) + " is missing";
  }
  return text;
}

int refuse(const CLI::App& app, const std::string& text, const std::string& path) {
  const Status status = invalidArgument(text + ". " + path + " --help lists what it takes");
  std::cerr << app.get_name() << ": " << printableText(status.toString()) << "\n";
  return exitCode(status);
}

}  // namespace

std::optional<int> readCommandLine(CLI::App& app, int argc, char** argv) {
  Words words(app);
  const Status status = words.check(std::span(argv, static_cast<size_t>(argc)).subspan(std::min(argc, 1)));
  try {
    if (status.isOk()) app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return refuse(app, reworded(error, app, words.command()), words.path());
  }
  if (!status.isOk()) return refuse(app, status.message(), words.path());
  return std::nullopt;
}

}  // namespace firn::tools
