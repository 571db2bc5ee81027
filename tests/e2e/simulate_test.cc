// A simulation says what the device reports when it computes: the same chunks, variants and heads, the same
// picoseconds.
#include "engine/simulation.h"

#include <gtest/gtest.h>

#include "tests/e2e/compiled_model.h"

namespace firn::e2e {
namespace {

/// Of a session on the device npu, which computes.
runtime::SimulatedRun ranOnDevice(const std::string& blob, uint32_t promptTokens, uint32_t decodeTokens) {
  runtime::SimulatedTime time;
  const SessionPtr session = openSession(blob, {.deviceOptions = {.simulated = &time}});
  const auto ids = someIds(promptTokens + decodeTokens, session->model().limits().vocab);
  static_cast<void>(need(session->prefill(std::span(ids).first(promptTokens))));
  for (const int32_t id : std::span(ids).subspan(promptTokens)) static_cast<void>(need(session->decode(id)));
  return time.total;
}

TEST(SimulateTest, IsWhatTheDeviceReports) {
  compiler::CompileOptions options = smallCompile("gguf/llama.gguf", "npu", 1);
  options.machine = "lnl";
  const std::string path = blobOf(options);
  const blob::Blob blob = need(blob::Blob::open(path));
  engine::Simulator simulator = need(engine::Simulator::create(blob));
  constexpr std::pair<uint32_t, uint32_t> kLengths[] = {{1, 0}, {17, 3}, {63, 4}, {128, 2}};
  for (const auto& [promptTokens, decodeTokens] : kLengths) {
    const engine::Simulation simulation = need(simulator.run(promptTokens, decodeTokens));
    runtime::SimulatedRun simulated = simulation.prompt.run;
    simulated.add(simulation.decode.run);
    const runtime::SimulatedRun ran = ranOnDevice(path, promptTokens, decodeTokens);
    EXPECT_EQ(simulated.picoseconds, ran.picoseconds) << promptTokens << " + " << decodeTokens;
    EXPECT_EQ(simulated.ddrBytes, ran.ddrBytes);
    EXPECT_EQ(simulated.macs, ran.macs);
    EXPECT_LE(simulation.prompt.usefulMacs + simulation.decode.usefulMacs, ran.macs);
    EXPECT_LE(simulation.prompt.leastDdrBytes + simulation.decode.leastDdrBytes, ran.ddrBytes);
  }
}

}  // namespace
}  // namespace firn::e2e
