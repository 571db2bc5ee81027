// firn tokenize: the ids of a text.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "genai/tokenizer/tokenizer.h"
#include "tools/command.h"
#include "tools/model_source.h"
#include "tools/standard_input.h"
#include "tools/text_input.h"

namespace firn::tools {
namespace {

struct TokenizeOptions {
  std::string model;
  std::string text;
  bool json = false;
};

/// Its ids and their text take tens of times as much.
constexpr uint64_t kMaxInputBytes = 64U << 20;

Status tokenize(const TokenizeOptions& options) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<std::byte> image, tokenizerImage(options.model));
  FIRN_ASSIGN_OR_RETURN(const genai::Tokenizer tokenizer, genai::Tokenizer::open(image));
  std::string text = options.text;
  if (text == "-") {
    FIRN_ASSIGN_OR_RETURN(text, readStandardInput(kMaxInputBytes, "more than firn takes; give it in parts"));
  }
  FIRN_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, encodeText(tokenizer, text));
  if (options.json) {
    std::cout << nlohmann::json{{"ids", ids}}.dump() << "\n";
    return Status::ok();
  }
  for (const int32_t id : ids) {
    FIRN_ASSIGN_OR_RETURN(const std::string piece, tokenizer.decode(std::span(&id, 1), false));
    std::cout << id << "\t" << nlohmann::json(piece).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  }
  return Status::ok();
}

}  // namespace

void addTokenizeCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand("tokenize", "Print the token ids of a text, special tokens parsed");
  command->add_option("model", options->model, "A GGUF model or a blob")->required();
  command->add_option("text", options->text, "The text; - reads it from standard input")->required();
  command->add_flag("--json", options->json, "Print {\"ids\": [...]}");
  command->callback([options, &action] { action = [options] { return tokenize(*options); }; });
}

}  // namespace firn::tools
