// What a model costs on the machine it was compiled for, and what a run on the simulated npu took: the same
// picoseconds.
#include "engine/simulation.h"
#include "examples/example.h"

namespace {

using namespace firn;

double milliseconds(uint64_t picoseconds) { return static_cast<double>(picoseconds) * 1e-9; }

Status run(const char* blobPath) {
  constexpr uint32_t kPrompt = 40;
  constexpr uint32_t kSteps = 8;
  // Computed without values: no weight is read, so a blob made with --weights none will do.
  FIRN_ASSIGN_OR_RETURN(const blob::Blob blob, blob::Blob::open(blobPath));
  FIRN_ASSIGN_OR_RETURN(engine::Simulator simulator, engine::Simulator::create(blob));
  FIRN_ASSIGN_OR_RETURN(const engine::Simulation simulation, simulator.run(kPrompt, kSteps));
  std::printf("simulated: %u tokens in %.3f ms (limit %.3f), a step in %.3f ms\n", kPrompt,
              milliseconds(simulation.prompt.run.picoseconds), simulation.prompt.limitPicoseconds * 1e-9,
              milliseconds(simulation.decode.run.picoseconds) / kSteps);

  // Run with values: each submit adds its time to `time`, which must outlive the model.
  runtime::SimulatedTime time;
  engine::ModelOptions options;
  options.deviceOptions.simulated = &time;
  FIRN_ASSIGN_OR_RETURN(const auto model, engine::Model::open(blobPath, options));
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  FIRN_ASSIGN_OR_RETURN(const auto prompted, session->prompt(std::vector<int32_t>(kPrompt, 1)));
  std::span<const float> logits = prompted.logits;
  for (uint32_t step = 0; step < kSteps; ++step) {
    FIRN_ASSIGN_OR_RETURN(logits, session->decode(examples::likeliest(logits)));
  }
  std::printf("run: %llu submits took %.3f ms of the machine's time\n", static_cast<unsigned long long>(time.runs),
              milliseconds(time.total.picoseconds));
  const uint64_t simulated = simulation.prompt.run.picoseconds + simulation.decode.run.picoseconds;
  return simulated == time.total.picoseconds ? Status::ok() : internalError("the two times differ");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL.firn      (firn compile --device npu makes one from a GGUF)\n", argv[0]);
    return 2;
  }
  const Status status = run(argv[1]);
  if (!status.isOk()) std::fprintf(stderr, "%s\n", status.toString().c_str());
  return status.isOk() ? 0 : 1;
}
