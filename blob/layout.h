// The bytes of a firn blob: plain little-endian structs, used as mapped. docs/blob_format.md describes every field.
// Not here: reading, writing or verifying (reader.h, writer.h, verifier.h).
#pragma once

#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "base/hash.h"

namespace firn::blob {

/// Format version. While major is 0 any other minor is refused.
inline constexpr uint32_t kFormatMajor = 0;
inline constexpr uint32_t kFormatMinor = 8;

/// Names of the ELF sections. Weight sections are `.firn.weights`; everything else is "outside the weights".
inline constexpr const char* kNoteSection = ".note.firn";
inline constexpr const char* kCardSection = ".firn.card";            ///< JSON: model card
inline constexpr const char* kTokenizerSection = ".firn.tokenizer";  ///< blob/tokenizer_image.h; may be absent
inline constexpr const char* kTemplateSection = ".firn.template";    ///< chat template text; may be absent
inline constexpr const char* kProgramSection = ".firn.program";      ///< ProgramHeader and its tables
inline constexpr const char* kMachineSection = ".firn.machine";  ///< JSON: machine file of the npu target; else absent
inline constexpr const char* kWeightsSection = ".firn.weights";

inline constexpr uint64_t kTensorAlignment = 64;
inline constexpr uint64_t kSectionAlignment = 4096;
inline constexpr uint64_t kHugeAlignment = 2ULL << 20;  ///< of weight sections of at least kHugeThreshold bytes
inline constexpr uint64_t kHugeThreshold = 32ULL << 20;

using firn::Hash128;

/// Longest string of the program's table, without its NUL.
inline constexpr size_t kMaxStringBytes = 256;

/// More lanes than any machine this format is for.
inline constexpr uint32_t kMaxLanes = 256;

enum class Target : uint32_t { kReference = 1, kCpu = 2, kNpu = 3 };

/// Descriptor of the identification note.
struct Ident {
  uint32_t formatMajor;
  uint32_t formatMinor;
  Target target;          ///< one of those that the entries are for
  uint32_t lanes;         ///< work is split in this many lanes; a run may use 1..lanes threads
  uint32_t arithmeticId;  ///< version of docs/arithmetic.md the program was made for
  uint32_t isaNeeds;      ///< bit set of instruction sets the program cannot run without; 0: any
  Hash128 contentHash;    ///< XXH3-128 of the whole file outside the weight sections, this field as zero
  Hash128 weightsHash;    ///< XXH3-128 of the weight section
  Hash128 modelHash;      ///< of the source model's header and metadata
  Hash128 machineHash;    ///< of the machine file; zero without one
  Hash128 compilerId;     ///< of the sources of compiler, kernels and blob
};
static_assert(sizeof(Ident) == 104);

/// A table inside the program section: `count` records from byte `offset` of the section (8-byte aligned).
struct Table {
  uint64_t offset;
  uint64_t count;
};

/// Head of the program section.
struct ProgramHeader {
  uint32_t layers;
  uint32_t embed;  ///< E, width of the residual stream
  uint32_t heads;
  uint32_t kvHeads;
  uint32_t headDim;
  uint32_t vocab;
  uint32_t maxPromptTokens;    ///< rounded up to 64
  uint32_t minResponseTokens;  ///< rounded up to 64
  uint32_t kvRows;             ///< T = maxPromptTokens + minResponseTokens
  DType kvType;                ///< of the KV cache: f16, i8 or f32 (blob/kv_part.h)
  uint8_t topTokens;           ///< K: entries with logits give the K best too; 0: they do not
  uint8_t reserved0[2];
  uint64_t kvBytes;
  uint64_t scratchBytes;  ///< the largest of the entries
  uint64_t weightsBytes;  ///< size of the weight section
  Table entries;          ///< EntryRecord
  Table calls;            ///< CallRecord
  Table callArgs;         ///< uint64_t: byte offsets, meaning by the body's params
  Table bodies;           ///< BodyRecord
  Table params;           ///< ParamRecord
  Table segments;         ///< SegmentRecord
  Table laneRanges;       ///< LaneRange, Ident::lanes per segment
  Table tasks;            ///< TaskRecord
  Table operands;         ///< OperandRecord
  Table attrs;            ///< uint64_t: integers, or the bits of a double
  Table symbols;          ///< SymbolRecord
  Table strings;          ///< bytes; a string is NUL-terminated UTF-8 named by its byte offset in this table
};
static_assert(sizeof(ProgramHeader) == 40 + 24 + 12 * 16);

enum class EntryKind : uint32_t { kPrefill = 1, kGenerate = 2, kHead = 3, kBatch = 4 };

/// The rows of a batch entry: 2 up to this.
inline constexpr uint32_t kMaxBatchRows = 8;

/// One static program: `prefill.<chunk>.<context>`, `generate.<context>`, `head.<rows>`, or `batch.<rows>.<context>`, a
/// generate step of several independent rows, each with a cache, position and mask of its own.
struct EntryRecord {
  uint32_t name;  ///< string
  EntryKind kind;
  uint32_t rows;     ///< m: tokens of a chunk, 1 for generate, rows of a head or batch
  uint32_t context;  ///< c: KV rows [0, c) may be read; 0 for a head
  uint32_t firstCall;
  uint32_t callCount;  ///< calls run in order, each after all lanes finished the one before
  uint32_t firstSymbol;
  uint32_t symbolCount;
  uint64_t scratchBytes;
  uint64_t predictedPicoseconds;  ///< cost model of the target, for choosing among entries
  Target target;                  ///< whose tasks its bodies hold
  uint16_t part;                  ///< an entry may be cut into parts, each with a record, which follow one another
  uint16_t parts;                 ///< how many they are; 1: not cut
  uint32_t reason;                ///< string: why that target, and why the cut
  uint32_t reserved0;
};

/// A body run with values for its params.
struct CallRecord {
  uint32_t body;
  uint32_t layer;  ///< layer it belongs to, or kNoLayer; for profiles
  uint32_t firstArg;
  uint32_t argCount;
};
inline constexpr uint32_t kNoLayer = 0xFFFFFFFF;

/// A function that several calls share: segments in order, a barrier of all lanes after each. A body for the npu has
/// one segment for each queue of its machine instead (blob/machine/machine.h), all of which run at once: the tasks of a
/// queue in lane 0, in order, with the waits and signals that each names.
struct BodyRecord {
  uint32_t name;  ///< string
  uint32_t firstParam;
  uint32_t paramCount;
  uint32_t firstSegment;
  uint32_t segmentCount;
  uint32_t reserved0;
};

enum class Space : uint8_t {
  kScratch = 1,  ///< the program's arena: base + offset
  kWeights = 2,  ///< weight section + call argument `base` (or 0 when base is kNoBase) + offset
  kKv = 3,       ///< KV buffer + call argument `base` (or 0) + offset
  kSymbol = 4,   ///< buffer bound to the symbol kind `base`, + offset
  kCmx = 5,      ///< npu: on-chip memory of tile `base`, + offset
};
inline constexpr uint16_t kNoBase = 0xFFFF;

/// A parameter of a body: a byte offset into `space` (kWeights or kKv) given by each call; the extent that the body
/// reads or writes from there is `bytes`.
struct ParamRecord {
  Space space;
  uint8_t reserved0[7];
  uint64_t bytes;
};

/// lanes LaneRange records from laneRanges[firstRange].
struct SegmentRecord {
  uint32_t firstRange;
};

/// The tasks of one lane in one segment, run in order.
struct LaneRange {
  uint32_t firstTask;
  uint32_t taskCount;
};

/// One task. Operand and attribute roles are fixed by the op: blob/task_op.h.
struct TaskRecord {
  uint16_t op;  ///< TaskOp
  uint16_t operandCount;
  uint32_t firstOperand;
  uint32_t firstAttr;
  uint16_t attrCount;
  uint8_t waitCount;    ///< npu: behind the attrs stand so many waits,
  uint8_t signalCount;  ///< and behind these so many signals: BarrierUse; other targets have none
  uint32_t name;        ///< string: the graph op it came from ("attn_q"), for profiles and messages
};

/// A use of one of the machine's barriers, which are counters, 0 when a call begins. A wait: the task starts when the
/// counter is `count` or more. A signal: it grows by one when the task ends; `count` is 0.
struct BarrierUse {
  uint32_t barrier;
  uint32_t count;
};

enum class Layout : uint8_t {
  kStrided = 0,  ///< element [i, j, ...] at offset + sum(i * stride) elements; quantized types: rows of blocks, stride
                 ///< of dim 0 in blocks' elements
  kPanels = 1,   ///< weights in panels of 16 rows: kernels/quant/panel.h; dims are {N, K}, strides 0
};

/// One operand. `bytes` is the extent from `offset` that the task may touch.
struct OperandRecord {
  Space space;
  DType dtype;
  uint8_t rank;  ///< 1..4
  Layout layout;
  uint16_t base;  ///< by space: param index, SymbolKind, or kNoBase
  uint16_t reserved0;
  uint64_t offset;
  uint64_t bytes;
  std::array<uint32_t, 4> dims;     ///< unused ones are 1
  std::array<uint32_t, 4> strides;  ///< in elements; unused ones are 0
};
static_assert(sizeof(OperandRecord) == 56);

/// What an entry reads and writes. Shapes use m = rows and c = context of the entry, E = embed, V = vocab.
enum class SymbolKind : uint32_t {
  kIds = 0,        ///< in, i32[m]; padding is 0
  kPositions = 1,  ///< in, i32[m]
  kValid = 2,      ///< in, i32: how many of the m rows are real
  kRow0 = 3,       ///< in, i32: the cache row of the first; batch: i32[m], that of each
  kMask = 4,       ///< in, u8[c]: 1 for every valid row, the chunk's own valid rows included; batch: u8[m, c]
  kHidden = 5,     ///< prefill: out, head: in; f32[m, E]. Between the parts of an entry: out of one, in of the next
  kLogits = 6,     ///< generate: out f32[1, V]; head and batch: out f32[rows, V]
  kTopLogits = 7,  ///< beside logits: out f32[rows, K], the K best, best first; of equal ones the smaller id, NaN never
  kTopIds = 8,     ///< their ids: out i32[rows, K]; -1 (and a logit of minus infinity) behind the last one
  kKv = 9,         ///< in and out, the whole cache of a slot; batch: that of row 0
  kKv1 = 10,       ///< batch: the cache of row 1; those of rows 2 to 7 follow
};
inline constexpr uint32_t kSymbolKinds = 9 + kMaxBatchRows;

/// The cache of row `row` of a batch.
constexpr SymbolKind kvOfRow(uint32_t row) {
  return static_cast<SymbolKind>(static_cast<uint32_t>(SymbolKind::kKv) + row);
}
/// True of the caches of all rows.
constexpr bool isKv(SymbolKind kind) { return kind >= SymbolKind::kKv; }

struct SymbolRecord {
  SymbolKind kind;
  DType dtype;
  uint8_t rank;
  uint8_t isOutput;  ///< 1: the entry writes it
  uint8_t reserved0;
  std::array<uint32_t, 4> dims;
  uint64_t bytes;
};

static_assert(sizeof(EntryRecord) == 64 && sizeof(CallRecord) == 16 && sizeof(BodyRecord) == 24);
static_assert(sizeof(ParamRecord) == 16 && sizeof(SegmentRecord) == 4 && sizeof(LaneRange) == 8);
static_assert(sizeof(TaskRecord) == 20 && sizeof(SymbolRecord) == 32 && sizeof(BarrierUse) == sizeof(uint64_t));

}  // namespace firn::blob
