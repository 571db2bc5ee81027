// A chat of ten turns: each turn computes its new tokens and at most one more, and answers as a session that has seen
// nothing before; after a rewind, an edit, a fork, and from a file in another process too.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include "genai/pipeline.h"
#include "tests/e2e/compiled_model.h"
#include "tools/engine_adapter.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;
constexpr uint32_t kTurns = 10;
constexpr uint32_t kQuestion = 60;  ///< tokens of a user's message
constexpr uint32_t kAnswer = 40;
using Ids = std::vector<int32_t>;

class ChatReuseTest : public testing::TestWithParam<std::string> {
 protected:
  compiler::CompileOptions compile() const {
    compiler::CompileOptions options = smallCompile(GetParam());
    options.maxPromptTokens = 1024;
    options.contexts = {256, 512, 1024};
    return options;
  }
  static Ids question(uint32_t turn) { return someIds(kQuestion, kVocab, 100 + turn); }

  static genai::GenerateResult answer(engine::Session& session, const Ids& history) {
    tools::SessionEngine engine(session);
    return need(genai::generate(engine, nullptr, history, {.maxTokens = kAnswer, .ignoreEos = true}));
  }
  Ids freshAnswer(const Ids& history) const { return answer(*openSession(compile()), history).tokens; }

  /// Adds turn `turn` to `history` and runs it; `kept` tokens of the history are expected in the cache.
  void turn(engine::Session& session, Ids& history, uint32_t turn, size_t kept) const {
    const Ids message = question(turn);
    history.insert(history.end(), message.begin(), message.end());
    const auto result = answer(session, history);
    EXPECT_GE(result.cachedTokens + 1, kept) << "turn " << turn;
    EXPECT_EQ(result.tokens, freshAnswer(history)) << "turn " << turn;
    history.insert(history.end(), result.tokens.begin(), result.tokens.end());
  }
  /// A session and the history of `turns` turns.
  std::pair<SessionPtr, Ids> chat(uint32_t turns) const {
    std::pair<SessionPtr, Ids> result(openSession(compile()), Ids());
    for (uint32_t i = 0; i < turns; ++i) turn(*result.first, result.second, i, result.second.size());
    return result;
  }
};

TEST_P(ChatReuseTest, TenTurnsComputeTheirNewTokensOnly) {
  const auto [session, history] = chat(kTurns);
  EXPECT_EQ(history.size(), kTurns * (kQuestion + kAnswer));
}

TEST_P(ChatReuseTest, ARewindOfTwoTurnsGoesOnFromThere) {
  auto [session, history] = chat(5);
  history.resize(3 * (kQuestion + kAnswer));
  need(session->rewind(static_cast<uint32_t>(history.size())));
  turn(*session, history, 40, history.size());
}

TEST_P(ChatReuseTest, AnEditedMessageKeepsWhatStandsBeforeIt) {
  auto [session, history] = chat(5);
  history.resize(2 * (kQuestion + kAnswer));
  turn(*session, history, 50, history.size());  // the third message, another text
  turn(*session, history, 51, history.size());
}

TEST_P(ChatReuseTest, AForkedChatGoesItsOwnWay) {
  auto [session, history] = chat(3);
  const SessionPtr forked = need(session->fork());
  Ids other = history;
  turn(*session, history, 60, history.size());
  turn(*forked, other, 61, other.size());
  turn(*session, history, 62, history.size());
}

TEST_P(ChatReuseTest, AnotherProcessGoesOn) {
  const TempFolder folder;
  const std::string path = folder.file("chat");
  const std::string blob = blobOf(compile());
  auto [session, history] = chat(3);
  need(session->save(path));
  const Ids message = question(70);
  history.insert(history.end(), message.begin(), message.end());
  const Ids expected = freshAnswer(history);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int exitCode = 1;
    try {
      const SessionPtr loaded = openSession(blob);
      need(loaded->load(path));
      const auto result = answer(*loaded, history);
      const bool isKept = result.cachedTokens + 1 + kQuestion >= history.size();
      exitCode = result.tokens == expected && isKept ? 0 : 2;
    } catch (const std::exception&) {
      exitCode = 3;
    }
    _exit(exitCode);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(ChatReuseTest, ASnapshotFitsOtherLaddersAndNotOtherSizes) {
  const TempFolder folder;
  const std::string path = folder.file("chat");
  auto [session, history] = chat(1);
  need(session->save(path));
  compiler::CompileOptions otherLadder = compile();
  otherLadder.prefillChunks = {16, 32};
  otherLadder.contexts = {64};
  const SessionPtr other = openSession(otherLadder);
  need(other->load(path));
  turn(*other, history, 80, history.size());
  compiler::CompileOptions otherSize = compile();
  otherSize.minResponseTokens = 256;
  const Status status = openSession(otherSize)->load(path);
  EXPECT_EQ(status.code(), Code::kVersionMismatch);
  EXPECT_NE(status.message().find("cache rows"), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Models, ChatReuseTest, testing::Values("gguf/llama.gguf", "quant/q4_1.gguf"),
                         [](const auto& info) { return info.index == 0 ? "f32" : "q4_1"; });

}  // namespace
}  // namespace firn::e2e
