#include "blob/dump.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/concat.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "blob/machine/machine.h"
#include "blob/names.h"
#include "blob/task_op.h"

namespace firn::blob {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPicosecondsPerMillisecond = 1e9;
/// A card of which each value gets a line; those of models have some kilobytes.
constexpr size_t kMaxShownCardBytes = 1U << 20;

std::string_view dtypeName(DType type) {
  const DTypeInfo* info = dtypeInfo(type);
  return info != nullptr ? info->name : std::string_view("?");
}

/// "f32[16, 64]", with strides where they are not row-major.
std::string shapeText(const OperandRecord& operand) {
  std::string text = concat(dtypeName(operand.dtype), "[");
  std::string strides;
  bool isDense = true;
  uint64_t dense = 1;
  for (uint32_t i = operand.rank; i-- > 0;) {
    isDense = isDense && operand.strides[i] == dense;
    dense *= operand.dims[i];
  }
  for (uint32_t i = 0; i < operand.rank; ++i) {
    text += concat(i == 0 ? "" : ", ", operand.dims[i]);
    strides += concat(i == 0 ? "" : ", ", operand.strides[i]);
  }
  text += "]";
  if (operand.layout == Layout::kPanels) return text + " panels";
  return isDense ? text : concat(text, " strides [", strides, "]");
}

/// "scratch+4096", "weights[param 3]+0", "symbol ids+0", "cmx 3+4096" (of tile 3).
std::string placeText(const OperandRecord& operand) {
  std::string text(spaceName(operand.space));
  if (operand.space == Space::kSymbol) {
    text += concat(" ", symbolKindName(static_cast<SymbolKind>(operand.base)));
  } else if (operand.space == Space::kCmx) {
    text += concat(" ", operand.base);
  } else if (operand.base != kNoBase) {
    text += concat("[param ", operand.base, "]");
  }
  return concat(text, "+", operand.offset);
}

/// What a dump knows of the npu: the machine, and the bodies that are queues of it.
class NpuBodies {
 public:
  explicit NpuBodies(const Blob& blob) : isNpu_(blob.bodies().size()) {
    if (blob.machine().empty()) return;
    machine_ = *machine::parseMachine(blob.machine(), kMachineSection);  // the verifier has too
    for (const EntryRecord& entry : blob.entries()) {
      if (entry.target != Target::kNpu) continue;
      for (const CallRecord& call : blob.callsOf(entry)) isNpu_[call.body] = true;
    }
  }
  bool has(size_t body) const { return isNpu_[body]; }
  std::string queueName(uint32_t segment) const { return machine::queueName(*machine_, segment); }
  /// Empty when no entry is for the npu.
  std::string_view machineName() const { return machine_ ? std::string_view(machine_->name) : std::string_view(); }

 private:
  std::vector<bool> isNpu_;
  std::optional<machine::Machine> machine_;
};

Json targetsJson(const Blob& blob) {
  Json names = Json::array();
  for (const Target target : blob.targets()) names.push_back(targetName(target));
  return names;
}

Json identJson(const Blob& blob, const NpuBodies& npu) {
  const Ident& ident = blob.ident();
  return {{"format", concat(ident.formatMajor, ".", ident.formatMinor)},
          {"target", targetName(ident.target)},
          {"targets", targetsJson(blob)},
          {"lanes", ident.lanes},
          {"arithmetic", ident.arithmeticId},
          {"isa_needs", ident.isaNeeds},
          {"content_hash", toHex(ident.contentHash)},
          {"weights_hash", toHex(ident.weightsHash)},
          {"model_hash", toHex(ident.modelHash)},
          {"machine", npu.machineName()},
          {"machine_hash", toHex(ident.machineHash)},
          {"compiler_id", toHex(ident.compilerId)}};
}

Json modelJson(const ProgramHeader& header) {
  return {{"layers", header.layers},
          {"embed", header.embed},
          {"heads", header.heads},
          {"kv_heads", header.kvHeads},
          {"head_dim", header.headDim},
          {"vocab", header.vocab},
          {"top_tokens", header.topTokens},
          {"max_prompt_tokens", header.maxPromptTokens},
          {"min_response_tokens", header.minResponseTokens},
          {"kv_rows", header.kvRows},
          {"kv_type", dtypeName(header.kvType)}};
}

Json memoryJson(const Blob& blob) {
  const ProgramHeader& header = blob.header();
  return {{"weights_bytes", header.weightsBytes},
          {"kv_bytes", header.kvBytes},
          {"scratch_bytes", header.scratchBytes},
          {"outside_bytes", blob.frame().outsideBytes()},
          {"file_bytes", blob.fileBytes()}};
}

Json sectionsJson(const Blob& blob) {
  Json sections = Json::array();
  for (uint32_t i = 1; i < kSectionIds; ++i) {
    const auto id = static_cast<SectionId>(i);
    const SectionPlace& place = blob.frame().place(id);
    if (place.present) {
      sections.push_back({{"name", sectionName(id)}, {"offset", place.offset}, {"bytes", place.bytes}});
    }
  }
  return sections;
}

Json symbolJson(const SymbolRecord& symbol) {
  Json dims = Json::array();
  for (uint32_t i = 0; i < symbol.rank; ++i) dims.push_back(symbol.dims[i]);
  return {{"name", symbolKindName(symbol.kind)},
          {"type", dtypeName(symbol.dtype)},
          {"dims", dims},
          {"bytes", symbol.bytes},
          {"output", symbol.isOutput != 0}};
}

Json entryJson(const Blob& blob, const EntryRecord& entry) {
  Json symbols = Json::array();
  for (const SymbolRecord& symbol : blob.symbolsOf(entry)) symbols.push_back(symbolJson(symbol));
  return {{"name", blob.string(entry.name)},
          {"kind", entryKindName(entry.kind)},
          {"rows", entry.rows},
          {"context", entry.context},
          {"target", targetName(entry.target)},
          {"part", entry.part},
          {"parts", entry.parts},
          {"reason", blob.string(entry.reason)},
          {"calls", entry.callCount},
          {"scratch_bytes", entry.scratchBytes},
          {"predicted_ps", entry.predictedPicoseconds},
          {"symbols", symbols}};
}

Json operandJson(const OperandRecord& operand) {
  return {{"shape", shapeText(operand)}, {"place", placeText(operand)}, {"bytes", operand.bytes}};
}

Json waitsJson(const Blob& blob, const TaskRecord& task) {
  Json waits = Json::array();
  for (const BarrierUse& use : blob.waitsOf(task)) waits.push_back({{"barrier", use.barrier}, {"count", use.count}});
  return waits;
}

Json signalsJson(const Blob& blob, const TaskRecord& task) {
  Json signals = Json::array();
  for (const BarrierUse& use : blob.signalsOf(task)) signals.push_back(use.barrier);
  return signals;
}

Json taskJson(const Blob& blob, const TaskRecord& task) {
  Json operands = Json::array();
  for (const OperandRecord& operand : blob.operandsOf(task)) operands.push_back(operandJson(operand));
  Json attrs = Json::array();
  for (uint64_t attr : blob.attrsOf(task)) attrs.push_back(attr);
  return {{"op", taskOpName(static_cast<TaskOp>(task.op))},
          {"name", blob.string(task.name)},
          {"operands", operands},
          {"attrs", attrs}};
}

/// Calls visit(segment, lane, task) for every task of a body in the order of the table.
template <typename Visit>
void forEachTask(const Blob& blob, const BodyRecord& body, Visit visit) {
  uint32_t segmentIndex = 0;
  for (const SegmentRecord& segment : blob.segmentsOf(body)) {
    uint32_t lane = 0;
    for (const LaneRange& range : blob.lanesOf(segment)) {
      for (const TaskRecord& task : blob.tasksOf(range)) visit(segmentIndex, lane, task);
      ++lane;
    }
    ++segmentIndex;
  }
}

uint64_t taskCount(const Blob& blob, const BodyRecord& body) {
  uint64_t count = 0;
  forEachTask(blob, body, [&](uint32_t, uint32_t, const TaskRecord&) { ++count; });
  return count;
}

/// How many calls of all entries run each body.
std::vector<uint64_t> callCounts(const Blob& blob) {
  std::vector<uint64_t> counts(blob.bodies().size());
  for (const CallRecord& call : blob.calls()) ++counts[call.body];
  return counts;
}

Json bodyJson(const Blob& blob, const BodyRecord& body, uint64_t calls) {
  return {{"name", blob.string(body.name)},
          {"params", body.paramCount},
          {"segments", body.segmentCount},
          {"tasks", taskCount(blob, body)},
          {"calls", calls}};
}

/// One JSON object, written member by member: what a tree of all of them would take is many times the blob.
class JsonObjectWriter {
 public:
  explicit JsonObjectWriter(const DumpSink& sink) : sink_(sink) { sink_("{"); }

  void member(std::string_view key, const Json& value) { memberText(key, textOf(value, 2)); }
  /// `json` is the value as it is written.
  void memberText(std::string_view key, std::string_view json) {
    sink_(concat(isFirst_ ? "" : ",", "\n  \"", key, "\": "));
    sink_(json);
    isFirst_ = false;
  }
  void beginList(std::string_view key) {
    memberText(key, "[");
    isFirst_ = true;
  }
  void item(std::string_view json) {
    sink_(concat(isFirst_ ? "" : ",", "\n    ", json));
    isFirst_ = false;
  }
  void endList() {
    sink_(isFirst_ ? "]" : "\n  ]");
    isFirst_ = false;
  }
  void end() { sink_("\n}\n"); }

  /// The text of a value that stands `indent` spaces deep. A path need not be UTF-8.
  static std::string textOf(const Json& value, size_t indent) {
    const std::string text = value.dump(2, ' ', false, Json::error_handler_t::replace);
    std::string out;
    for (const char c : text) {  // a newline in a string is escaped
      out += c;
      if (c == '\n') out.append(indent, ' ');
    }
    return out;
  }

 private:
  const DumpSink& sink_;
  bool isFirst_ = true;
};

/// A body with one line for each task.
struct BodyDump {
  const Blob& blob;
  const NpuBodies& npu;
  size_t index = 0;

  const BodyRecord& body() const { return blob.bodies()[index]; }
};

void writeBodyWithTasks(const BodyDump& of, const Json& json, JsonObjectWriter& writer, const DumpSink& sink) {
  const bool isNpu = of.npu.has(of.index);
  std::string text = JsonObjectWriter::textOf(json, 4);
  text.resize(text.rfind('\n'));  // without the brace
  writer.item(concat(text, ",\n      \"task_list\": ["));
  bool isFirst = true;
  forEachTask(of.blob, of.body(), [&](uint32_t segment, uint32_t lane, const TaskRecord& task) {
    Json one = isNpu ? Json{{"queue", of.npu.queueName(segment)}} : Json{{"segment", segment}, {"lane", lane}};
    one.update(taskJson(of.blob, task));
    if (isNpu) one.update({{"waits", waitsJson(of.blob, task)}, {"signals", signalsJson(of.blob, task)}});
    sink(concat(isFirst ? "" : ",", "\n        ", one.dump()));
    isFirst = false;
  });
  sink("\n      ]\n    }");
}

/// Text in columns: each line is filled by printf.
template <typename... Values>
void line(std::string& out, const char* format, Values... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof(buffer), format, values...);
  out.append(buffer);
}

using Unsigned = unsigned long long;

void textIdent(std::string& out, const Blob& blob, const NpuBodies& npu) {
  const Ident& ident = blob.ident();
  const ProgramHeader& header = blob.header();
  const std::vector<Target> targets = blob.targets();
  out += concat("format      ", ident.formatMajor, ".", ident.formatMinor,
                targets.size() == 1 ? ", target " : ", targets ", targetNames(targets), ", ", ident.lanes,
                " lanes, arithmetic ", ident.arithmeticId,
                ident.isaNeeds != 0 ? concat(", needs instruction sets ", ident.isaNeeds) : "", "\n");
  out += concat("model       ", header.layers, " layers, width ", header.embed, ", ", header.heads, " heads, ",
                header.kvHeads, " KV heads of ", header.headDim, ", vocabulary ", header.vocab,
                header.topTokens != 0 ? concat(", lists of the best ", header.topTokens) : "", "\n");
  out += concat("limits      prompt ", header.maxPromptTokens, " + response ", header.minResponseTokens, " = ",
                header.kvRows, " KV rows of ", dtypeName(header.kvType), "\n");
  const bool hasMachine = !npu.machineName().empty();
  if (hasMachine) out += concat("machine     ", npu.machineName(), "\n");
  out += concat("hashes      content ", toHex(ident.contentHash), "\n            weights ",
                blob.hasWeights() ? toHex(ident.weightsHash) : "none: they were left out (--weights none)",
                "\n            model   ", toHex(ident.modelHash),
                hasMachine ? concat("\n            machine ", toHex(ident.machineHash)) : "", "\n            compiler ",
                toHex(ident.compilerId), "\n");
  if (blob.card().size() > kMaxShownCardBytes) {
    out += concat("card        ", blob.card().size(), " bytes, too many to show: firn inspect --json has them\n");
    return;
  }
  const auto card = Json::parse(blob.card(), nullptr, false);
  for (const auto& [key, value] : card.items()) {
    // Both may hold anything that JSON can escape, and JSON leaves DEL and C1 controls as they are.
    out +=
        concat("card        ", isPrintableUtf8(key) ? key : firn::quoted(key), ": ", printableText(value.dump()), "\n");
  }
}

void textMemory(std::string& out, const Blob& blob) {
  out += "\nmemory                 bytes\n";
  const Json memory = memoryJson(blob);
  for (const auto& [key, value] : memory.items()) {
    line(out, "  %-14s %12llu\n", key.c_str(), static_cast<Unsigned>(value.get<uint64_t>()));
  }
  out += "\nsection                 offset        bytes\n";
  for (const Json& section : sectionsJson(blob)) {
    line(out, "  %-16s %12llu %12llu\n", section["name"].get<std::string>().c_str(),
         static_cast<Unsigned>(section["offset"].get<uint64_t>()),
         static_cast<Unsigned>(section["bytes"].get<uint64_t>()));
  }
}

void textEntries(const DumpSink& sink, const Blob& blob) {
  std::string out = "\nentry                  target      rows  context  calls      scratch  predicted ms\n";
  for (const EntryRecord& entry : blob.entries()) {
    line(out, "  %-20s %-10s %5u %8u %6u %12llu %13.3f\n", std::string(blob.string(entry.name)).c_str(),
         std::string(targetName(entry.target)).c_str(), entry.rows, entry.context, entry.callCount,
         static_cast<Unsigned>(entry.scratchBytes),
         static_cast<double>(entry.predictedPicoseconds) / kPicosecondsPerMillisecond);
    sink(out);
    out.clear();
  }
  out += "\nsymbols of the entries, by kind\n";
  for (EntryKind kind : {EntryKind::kPrefill, EntryKind::kGenerate, EntryKind::kBatch, EntryKind::kHead}) {
    const auto entry = std::ranges::find_if(blob.entries(), [&](const EntryRecord& e) { return e.kind == kind; });
    if (entry == blob.entries().end()) continue;
    out += concat("  ", blob.string(entry->name), ":");
    for (const SymbolRecord& symbol : blob.symbolsOf(*entry)) {
      out +=
          concat(" ", symbolKindName(symbol.kind), symbol.isOutput != 0 ? "(out) " : " ", dtypeName(symbol.dtype), "[");
      for (uint32_t i = 0; i < symbol.rank; ++i) out += concat(i == 0 ? "" : ", ", symbol.dims[i]);
      out += "];";
    }
    out.back() = '\n';
  }
  sink(out);
}

/// "      waits for 2 at barrier 0; signals barrier 1".
std::string barriersText(const Blob& blob, const TaskRecord& task) {
  std::string text;
  for (const BarrierUse& use : blob.waitsOf(task)) {
    text += concat(text.empty() ? "      waits for " : ", ", use.count, " at barrier ", use.barrier);
  }
  std::string signals;
  for (const BarrierUse& use : blob.signalsOf(task)) {
    signals += concat(signals.empty() ? "signals barrier " : ", ", use.barrier);
  }
  if (!signals.empty()) text += concat(text.empty() ? "      " : "; ", signals);
  return text.empty() ? text : text + "\n";
}

void textTasks(const DumpSink& sink, const BodyDump& of) {
  const Blob& blob = of.blob;
  const bool isNpu = of.npu.has(of.index);
  forEachTask(blob, of.body(), [&](uint32_t segment, uint32_t lane, const TaskRecord& task) {
    const std::string place = isNpu ? of.npu.queueName(segment) : concat("segment ", segment, " lane ", lane);
    std::string out = concat("    ", place, "  ", taskOpName(static_cast<TaskOp>(task.op)), "  ",
                             blob.string(task.name), "\n", barriersText(blob, task));
    for (const OperandRecord& operand : blob.operandsOf(task)) {
      out += concat("      ", placeText(operand), "  ", shapeText(operand), "  ", operand.bytes, " bytes\n");
    }
    sink(out);
  });
}

}  // namespace

void dumpText(const Blob& blob, const DumpOptions& options, const DumpSink& sink) {
  const NpuBodies npu(blob);
  std::string out = concat(printablePath(blob.path()), "\n");
  textIdent(out, blob, npu);
  textMemory(out, blob);
  sink(out);
  textEntries(sink, blob);
  sink("\nbody                 params segments  tasks  calls\n");
  const std::vector<uint64_t> calls = callCounts(blob);
  for (size_t i = 0; i < blob.bodies().size(); ++i) {
    const BodyRecord& body = blob.bodies()[i];
    std::string text;
    line(text, "  %-18s %6u %8u %6llu %6llu\n", std::string(blob.string(body.name)).c_str(), body.paramCount,
         body.segmentCount, static_cast<Unsigned>(taskCount(blob, body)), static_cast<Unsigned>(calls[i]));
    sink(text);
    if (options.tasks) textTasks(sink, {blob, npu, i});
  }
}

void dumpJson(const Blob& blob, const DumpOptions& options, const DumpSink& sink) {
  const NpuBodies npu(blob);
  JsonObjectWriter writer(sink);
  writer.member("path", blob.path());
  writer.member("ident", identJson(blob, npu));
  writer.memberText("card", blob.card());  // JSON, as the verifier saw it
  writer.member("model", modelJson(blob.header()));
  writer.member("memory", memoryJson(blob));
  writer.member("sections", sectionsJson(blob));
  writer.beginList("entries");
  for (const EntryRecord& entry : blob.entries()) writer.item(JsonObjectWriter::textOf(entryJson(blob, entry), 4));
  writer.endList();
  writer.beginList("bodies");
  const std::vector<uint64_t> calls = callCounts(blob);
  for (size_t i = 0; i < blob.bodies().size(); ++i) {
    const Json body = bodyJson(blob, blob.bodies()[i], calls[i]);
    if (options.tasks) {
      writeBodyWithTasks({blob, npu, i}, body, writer, sink);
    } else {
      writer.item(JsonObjectWriter::textOf(body, 4));
    }
  }
  writer.endList();
  writer.end();
}

}  // namespace firn::blob
