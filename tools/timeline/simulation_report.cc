#include "tools/timeline/simulation_report.h"

#include <array>
#include <cstdio>

#include "base/concat.h"
#include "base/quote.h"
#include "blob/names.h"
#include "tools/counted.h"

namespace firn::tools {
namespace {

using engine::SimulatedStage;
using machine::Engine;

constexpr double kPicosecondsPerMs = 1e9;
constexpr double kPicosecondsPerS = 1e12;
/// The engines in the order of reports.
constexpr std::array<std::pair<Engine, const char*>, runtime::kEngineKinds> kEngines = {
    {{Engine::kDpu, "dpu"}, {Engine::kShave, "shave"}, {Engine::kDma, "dma"}}};

template <typename... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), pattern, numbers...);
  return text.data();
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

uint32_t queuesOf(const machine::Machine& machine, Engine engine) {
  return engine == Engine::kDma ? machine.dmaEngines : machine.tiles;
}

const runtime::EngineTime& timeOf(const runtime::SimulatedRun& run, Engine engine) {
  return run.engines[static_cast<size_t>(engine)];
}

/// `picoseconds` of all queues of an engine, as a share of their time in the run.
double shareOf(uint64_t picoseconds, const runtime::SimulatedRun& run, Engine engine, const machine::Machine& machine) {
  return share(static_cast<double>(picoseconds), static_cast<double>(run.picoseconds) * queuesOf(machine, engine));
}

/// The picoseconds of a token; 0 without tokens.
double perToken(double picoseconds, uint32_t tokens) { return tokens == 0 ? 0 : picoseconds / tokens; }

/// Prompt and steps together.
runtime::SimulatedRun wholeOf(const engine::Simulation& simulation) {
  runtime::SimulatedRun run = simulation.prompt.run;
  run.add(simulation.decode.run);
  return run;
}

/// A cycle at f MHz lasts 10^6 / f picoseconds.
uint64_t cyclesOf(uint64_t picoseconds, uint32_t mhz) {
  constexpr uint64_t kPicosecondsPerMicrosecond = 1'000'000;
  return picoseconds / kPicosecondsPerMicrosecond * mhz +
         picoseconds % kPicosecondsPerMicrosecond * mhz / kPicosecondsPerMicrosecond;
}

double utilizationOf(const SimulatedStage& stage) {
  return share(stage.macPicoseconds, static_cast<double>(stage.run.picoseconds));
}

/// The name in the model card, or the file's.
std::string modelName(const blob::Blob& blob) {
  const nlohmann::json card = nlohmann::json::parse(blob.card(), nullptr, /*allow_exceptions=*/false);
  for (const char* key : {"name", "source", "architecture"}) {
    const auto found = card.is_object() ? card.find(key) : card.end();
    if (found != card.end() && found->is_string() && !found->get<std::string>().empty()) return *found;
  }
  return blob.path();
}

/// "time to first token   12.3 ms   9.9 ms   80 %  DPU: 69.1 GMAC at 10.4 TMAC/s".
std::string limitLine(const char* what, const SimulatedStage& stage, uint32_t parts, const machine::Machine& machine) {
  const double took = static_cast<double>(stage.run.picoseconds) / parts / kPicosecondsPerMs;
  const double limit = stage.limitPicoseconds / parts / kPicosecondsPerMs;
  const bool isMacs = stage.macPicoseconds > stage.ddrPicoseconds;
  const double perPicosecond = share(static_cast<double>(stage.usefulMacs), stage.macPicoseconds);
  const std::string reason =
      isMacs ? format("DPU: %.3f GMAC at %.2f TMAC/s of fp16", static_cast<double>(stage.usefulMacs) / parts * 1e-9,
                      perPicosecond)
             : format("DDR: %.3f MB at %.1f GB/s", static_cast<double>(stage.leastDdrBytes) / parts * 1e-6,
                      machine.ddrMegabytesPerSecond * 1e-3);
  return format("%-20s %12.3f ms %12.3f ms %4.0f %%  %s\n", what, took, limit, 100 * share(limit, took),
                reason.c_str());
}

std::string rateLine(const char* what, uint32_t tokens, const SimulatedStage& stage) {
  const double seconds = static_cast<double>(stage.run.picoseconds) / kPicosecondsPerS;
  return format("%-20s %9.1f tok/s %9.1f tok/s\n", what, share(tokens, seconds),
                share(tokens, stage.limitPicoseconds / kPicosecondsPerS));
}

/// Where the time of the engines went, in % of it.
std::string engineLines(const char* what, const SimulatedStage& stage, const machine::Machine& machine) {
  std::string text = format("%-20s %9s %9s %9s %9s\n", what, "busy", "bandwidth", "barrier", "idle");
  for (const auto& [engine, name] : kEngines) {
    const runtime::EngineTime& time = timeOf(stage.run, engine);
    const auto percent = [&](uint64_t picoseconds) { return 100 * shareOf(picoseconds, stage.run, engine, machine); };
    text +=
        format("  %-18s %7.1f %% %7.1f %% %7.1f %% %7.1f %%\n", concat(name, " x ", queuesOf(machine, engine)).c_str(),
               percent(time.busy), percent(time.bandwidthWait), percent(time.barrierWait), percent(time.idle));
  }
  return text;
}

std::string ddrLine(const char* what, const SimulatedStage& stage, uint32_t parts) {
  const double bytes = static_cast<double>(stage.run.ddrBytes);
  std::string text = format("%-20s %.3f MB of DDR at %.1f GB/s, %.3f MB needed; %.0f %% of the peak of the DPUs", what,
                            bytes / parts * 1e-6, share(bytes * 1e3, static_cast<double>(stage.run.picoseconds)),
                            static_cast<double>(stage.leastDdrBytes) / parts * 1e-6, 100 * utilizationOf(stage));
  if (stage.picojoules > 0) text += format("; %.3f mJ", stage.picojoules / parts * 1e-9);
  return text + "\n";
}

/// "prefill.256.256, prefill.256.512 x 3".
std::string chunkNames(std::span<const uint32_t> chunks, const blob::Blob& blob) {
  std::string text;
  for (size_t first = 0; first < chunks.size();) {
    size_t last = first + 1;
    while (last < chunks.size() && chunks[last] == chunks[first]) ++last;
    const blob::EntryRecord& entry = blob.entries()[chunks[first]];
    text += concat(text.empty() ? "" : ", ", blob::entryName(entry.kind, entry.rows, entry.context));
    if (last - first > 1) text += concat(" x ", last - first);
    first = last;
  }
  return text;
}

}  // namespace

nlohmann::ordered_json simulationJson(const SimulatedLength& length, const SimulatedSubject& subject) {
  const engine::Simulation& simulation = length.simulation;
  const SimulatedStage& prompt = simulation.prompt;
  const SimulatedStage& decode = simulation.decode;
  const uint32_t steps = simulation.decodeTokens;
  const runtime::SimulatedRun whole = wholeOf(simulation);
  const auto stepValue = [&](double value) {
    return steps == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  const double ttft = static_cast<double>(prompt.run.picoseconds);
  const double tpot = perToken(static_cast<double>(decode.run.picoseconds), steps);
  nlohmann::ordered_json json;
  if (length.context != 0) json["context"] = length.context;
  json.update({{"machine", subject.machine.name},
               {"model", modelName(subject.blob)},
               {"prompt_tokens", simulation.promptTokens},
               {"decode_tokens", steps},
               {"ttft_ms", ttft / kPicosecondsPerMs},
               {"tpot_ms", stepValue(tpot / kPicosecondsPerMs)},
               {"prefill_tok_s", share(simulation.promptTokens, ttft / kPicosecondsPerS)},
               {"decode_tok_s", stepValue(share(1, tpot / kPicosecondsPerS))},
               {"bound_ttft_ms", prompt.limitPicoseconds / kPicosecondsPerMs},
               {"bound_tpot_ms", stepValue(perToken(decode.limitPicoseconds, steps) / kPicosecondsPerMs)}});
  for (const auto& [engine, name] : kEngines) {
    json["busy"][name] = shareOf(timeOf(whole, engine).busy, whole, engine, subject.machine);
  }
  json["mac_utilization"] = utilizationOf(prompt);
  json["ddr_bytes"] = whole.ddrBytes;
  json["cycles"] = cyclesOf(whole.picoseconds, subject.machine.dpuMhz);
  if (subject.machine.energy) json["energy_mj"] = (prompt.picojoules + decode.picojoules) * 1e-9;
  json["chunks"] = chunkNames(simulation.chunks, subject.blob);
  json["host_s"] = length.hostSeconds;
  return json;
}

std::string simulationText(const SimulatedLength& length, const SimulatedSubject& subject) {
  const engine::Simulation& simulation = length.simulation;
  const machine::Machine& machine = subject.machine;
  const uint32_t steps = simulation.decodeTokens;
  const runtime::SimulatedRun whole = wholeOf(simulation);
  std::string text = concat(printableText(modelName(subject.blob)), " on ", machine.name, ", simulated: a prompt of ",
                            counted(simulation.promptTokens, "token"), " (",
                            chunkNames(simulation.chunks, subject.blob), "), ", counted(steps, "step"), "\n\n");
  text += format("%-20s %15s %15s %6s\n", "", "simulated", "limit", "of it");
  text += limitLine("time to first token", simulation.prompt, 1, machine);
  if (steps > 0) text += limitLine("time per token", simulation.decode, steps, machine);
  text += rateLine("prefill", simulation.promptTokens, simulation.prompt);
  if (steps > 0) text += rateLine("decode", steps, simulation.decode);
  text += "\n" + engineLines("engines, prompt", simulation.prompt, machine);
  if (steps > 0) text += engineLines("engines, steps", simulation.decode, machine);
  text += "\n" + ddrLine("prompt", simulation.prompt, 1);
  if (steps > 0) text += ddrLine("a step", simulation.decode, steps);
  text += format("%-20s %.3f MB of DDR, %llu DPU cycles of %u MHz; simulated in %.3f s\n", "in all",
                 static_cast<double>(whole.ddrBytes) * 1e-6,
                 static_cast<unsigned long long>(cyclesOf(whole.picoseconds, machine.dpuMhz)), machine.dpuMhz,
                 length.hostSeconds);
  return text;
}

std::string sweepText(std::span<const SimulatedLength> lengths, const SimulatedSubject& subject) {
  std::string text = concat(printableText(modelName(subject.blob)), " on ", subject.machine.name,
                            ", simulated: time to first token and per token, with their limits\n\n");
  text += format("%8s %8s %11s %11s %5s %11s %10s %10s %5s %9s  %s\n", "context", "prompt", "ttft ms", "limit ms",
                 "of it", "tok/s", "tpot ms", "limit ms", "of it", "tok/s", "busy: dpu shave dma");
  for (const SimulatedLength& length : lengths) {
    const engine::Simulation& simulation = length.simulation;
    const runtime::SimulatedRun whole = wholeOf(simulation);
    const double ttft = static_cast<double>(simulation.prompt.run.picoseconds) / kPicosecondsPerMs;
    const double ttftLimit = simulation.prompt.limitPicoseconds / kPicosecondsPerMs;
    const double tpot =
        perToken(static_cast<double>(simulation.decode.run.picoseconds), simulation.decodeTokens) / kPicosecondsPerMs;
    const double tpotLimit = perToken(simulation.decode.limitPicoseconds, simulation.decodeTokens) / kPicosecondsPerMs;
    text += format("%8u %8u %11.3f %11.3f %3.0f %% %11.1f %10.3f %10.3f %3.0f %% %9.1f ", length.context,
                   simulation.promptTokens, ttft, ttftLimit, 100 * share(ttftLimit, ttft),
                   share(simulation.promptTokens * 1e3, ttft), tpot, tpotLimit, 100 * share(tpotLimit, tpot),
                   share(1e3, tpot));
    for (const auto& [engine, name] : kEngines) {
      text += format(" %5.0f %%", 100 * shareOf(timeOf(whole, engine).busy, whole, engine, subject.machine));
    }
    text += "\n";
  }
  return text;
}

}  // namespace firn::tools
