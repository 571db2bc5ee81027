#include "genai/tokenizer/tokenizer.h"

#include <optional>
#include <utility>

#include "base/utf8.h"
#include "genai/tokenizer/byte_pair_merge.h"
#include "genai/tokenizer/compose.h"
#include "genai/tokenizer/pre_tokenizer.h"
#include "genai/tokenizer/special_tokens.h"

namespace firn::genai {
namespace {

using blob::Choice;
using blob::kNoToken;
using blob::TokenType;

/// Merging takes about 40 bytes of memory a byte.
constexpr size_t kMaxPieceBytes = size_t{16} << 20;

bool decide(Choice choice, bool otherwise) { return choice == Choice::kUnsaid ? otherwise : choice == Choice::kYes; }

}  // namespace

struct Tokenizer::State {
  blob::TokenizerImage image;
  PreTokenizer preTokenizer;
  SpecialTokens specials;
  bool addBos;
  bool addEos;
  bool addSpacePrefix;
  bool composes;
  bool ignoreMerges;

  /// Appends the ids of one encode() call's text.
  class Encoder;
};

class Tokenizer::State::Encoder {
 public:
  Encoder(const State& state, std::vector<int32_t>& ids) : state_(state), ids_(ids), merger_(state.image) {}

  Status text(std::string_view text, bool parseSpecial) {
    size_t done = 0;
    while (const auto match = state_.specials.find(text, done, parseSpecial)) {
      FIRN_RETURN_IF_ERROR(fragment(text.substr(done, match->begin - done)));
      ids_.push_back(static_cast<int32_t>(match->id));
      done = match->begin + match->bytes;
    }
    return fragment(text.substr(done));
  }

  /// Bytes that have no token.
  uint64_t bytesLeftOut() const { return merger_.bytesLeftOut(); }

 private:
  /// Text between special tokens.
  Status fragment(std::string_view text) {
    if (text.empty()) return Status::ok();
    if (!state_.addSpacePrefix || text.front() == ' ') return bytes(text);
    return bytes(" " + std::string(text));
  }

  /// Cuts at bytes that are no part of a character; each is a piece of its own.
  Status bytes(std::string_view text) {
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const Utf8Span span = firstCharacter(text.substr(at));
      if (span.kind == Utf8Kind::kValid) {
        at += span.bytes;
        continue;
      }
      FIRN_RETURN_IF_ERROR(valid(text.substr(begin, at - begin)));
      FIRN_RETURN_IF_ERROR(piece(text.substr(at, 1)));
      begin = ++at;
    }
    return valid(text.substr(begin));
  }

  /// A run of valid UTF-8.
  Status valid(std::string_view text) {
    if (text.empty()) return Status::ok();
    if (!state_.composes) return pieces(text);
    FIRN_ASSIGN_OR_RETURN(const std::string composedText, composed(text));
    return pieces(composedText);
  }

  Status pieces(std::string_view text) {
    Status failed;
    FIRN_RETURN_IF_ERROR(state_.preTokenizer.split(text, [this, &failed](std::string_view part) {
      if (failed.isOk()) failed = piece(part);
    }));
    return failed;
  }

  Status piece(std::string_view piece) {
    if (piece.size() > kMaxPieceBytes) {
      return resourceExhausted("text has " + std::to_string(piece.size()) +
                               " bytes without a place to split them; at most " + std::to_string(kMaxPieceBytes) +
                               " are supported: put spaces or line breaks in it");
    }
    if (state_.ignoreMerges) {
      const uint32_t id = state_.image.findToken(piece);
      if (id != kNoToken && state_.image.tokenType(id) == TokenType::kNormal) {
        ids_.push_back(static_cast<int32_t>(id));
        return Status::ok();
      }
    }
    merger_.merge(piece, ids_);
    return Status::ok();
  }

  const State& state_;
  std::vector<int32_t>& ids_;
  BytePairMerger merger_;
};

Result<Tokenizer> Tokenizer::open(std::span<const std::byte> bytes) {
  FIRN_ASSIGN_OR_RETURN(const auto image, blob::TokenizerImage::open(bytes));
  if (image.modelName() != "gpt2") {
    return unsupported("unsupported tokenizer '" + std::string(image.modelName()) +
                       "'; firn knows gpt2 (byte-level BPE)");
  }
  FIRN_ASSIGN_OR_RETURN(const PreTokenizerRow* row, findPreTokenizer(image.preName()));
  FIRN_ASSIGN_OR_RETURN(auto preTokenizer, PreTokenizer::make(*row));
  const blob::TokenizerHeader& header = image.header();
  return Tokenizer(std::make_unique<State>(State{
      .image = image,
      .preTokenizer = std::move(preTokenizer),
      .specials = SpecialTokens(image),
      // Never invent a token that the model does not name.
      .addBos = decide(header.addBos, row->addBos) && header.bosId != kNoToken,
      .addEos = decide(header.addEos, false) && header.eosId != kNoToken,
      // A space that has no token would be left out again, and counted as one of the text.
      .addSpacePrefix = decide(header.addSpacePrefix, false) && image.byteToken(' ') != kNoToken,
      .composes = row->composes,
      .ignoreMerges = decide(header.ignoreMerges, row->ignoreMerges),
  }));
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, const EncodeOptions& options,
                                               uint64_t* bytesLeftOut) const {
  if (text.size() > INT32_MAX) {
    return resourceExhausted("text has " + std::to_string(text.size()) + " bytes; at most " +
                             std::to_string(INT32_MAX) + " are supported: give it in parts");
  }
  std::vector<int32_t> ids;
  const auto bos = static_cast<int32_t>(state_->image.header().bosId);
  const auto eos = static_cast<int32_t>(state_->image.header().eosId);
  const bool addBos = options.addBosEos && state_->addBos;
  if (addBos) ids.push_back(bos);
  State::Encoder encoder(*state_, ids);
  FIRN_RETURN_IF_ERROR(encoder.text(text, options.parseSpecial));
  if (bytesLeftOut != nullptr) *bytesLeftOut = encoder.bytesLeftOut();
  if (addBos && ids.size() > 1 && ids[1] == bos) ids.erase(ids.begin());
  if (options.addBosEos && state_->addEos && (ids.empty() || ids.back() != eos)) ids.push_back(eos);
  return ids;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  std::string text;
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= state_->image.tokenCount()) {
      return outOfRange("token id " + std::to_string(id) + " of a vocabulary of " +
                        std::to_string(state_->image.tokenCount()));
    }
    const auto token = static_cast<uint32_t>(id);
    if (skipSpecial && state_->image.tokenType(token) == TokenType::kControl) continue;
    text += state_->image.tokenBytes(token);
  }
  return text;
}

const blob::TokenizerImage& Tokenizer::image() const { return state_->image; }

bool Tokenizer::isEndId(int32_t id) const { return id >= 0 && state_->image.isEndId(static_cast<uint32_t>(id)); }

}  // namespace firn::genai
