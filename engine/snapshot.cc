#include "engine/snapshot.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/align.h"
#include "base/atomic_file.h"
#include "base/concat.h"
#include "base/dtype.h"
#include "base/joined.h"
#include "base/mapped_file.h"
#include "base/quote.h"
#include "blob/names.h"
#include "engine/token_ids.h"

namespace firn::engine {
namespace {

constexpr uint64_t kAlignment = 64;
static_assert(sizeof(SnapshotHeader) % kAlignment == 0);

uint64_t rowsOffset(uint32_t tokens) {
  return sizeof(SnapshotHeader) + roundUp(uint64_t{tokens} * sizeof(int32_t), kAlignment);
}

template <typename T>
std::span<const std::byte> bytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

Hash128 contentHash(std::span<const std::byte> file) {
  SnapshotHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  header.contentHash = {};
  Hasher128 hasher;
  hasher.update(bytesOf(header));
  hasher.update(file.subspan(sizeof(header)));
  return hasher.digest();
}

Status checkHash(const char* field, const Hash128& found, const Hash128& expected) {
  if (found == expected) return Status::ok();
  return versionMismatch(
      concat("the snapshot's ", field, " is ", toHex(found), ", the loaded model's is ", toHex(expected)));
}

/// A value that has a name, which means more to a reader than its code.
Status checkName(const char* field, std::string_view found, std::string_view expected) {
  if (found == expected) return Status::ok();
  return versionMismatch(concat("the snapshot's ", field, " is ", found, ", the loaded model's is ", expected));
}

// Of fields that a file may have set to anything.
std::string targetNamesOf(uint32_t targets) {
  std::vector<std::string> names;
  for (uint32_t target = 0; target < 32; ++target) {
    if ((targets >> target & 1) == 0) continue;
    const std::string_view name = blob::targetName(static_cast<blob::Target>(target));
    names.push_back(name.empty() ? concat("number ", target) : std::string(name));
  }
  return names.empty() ? "none" : joined(names, " and ");
}
std::string kvTypeNameOf(uint32_t type) {
  const auto* info = type <= UINT8_MAX ? dtypeInfo(static_cast<DType>(type)) : nullptr;
  return info == nullptr ? concat("number ", type) : std::string(info->name);
}

Status checkNumber(const char* field, uint32_t found, uint32_t expected) {
  if (found == expected) return Status::ok();
  return versionMismatch(concat("the snapshot's ", field, " is ", found, ", the loaded model's is ", expected));
}

Status checkIdentity(const SnapshotIdentity& found, const SnapshotIdentity& expected) {
  FIRN_RETURN_IF_ERROR(checkHash("model hash", found.modelHash, expected.modelHash));
  FIRN_RETURN_IF_ERROR(checkName("device", targetNamesOf(found.targets), targetNamesOf(expected.targets)));
  FIRN_RETURN_IF_ERROR(checkNumber("arithmetic id", found.arithmeticId, expected.arithmeticId));
  FIRN_RETURN_IF_ERROR(checkNumber("number of lanes", found.lanes, expected.lanes));
  FIRN_RETURN_IF_ERROR(checkNumber("number of layers", found.layers, expected.layers));
  FIRN_RETURN_IF_ERROR(checkNumber("number of KV heads", found.kvHeads, expected.kvHeads));
  FIRN_RETURN_IF_ERROR(checkNumber("head dimension", found.headDim, expected.headDim));
  FIRN_RETURN_IF_ERROR(checkNumber("number of cache rows (T)", found.kvRows, expected.kvRows));
  FIRN_RETURN_IF_ERROR(checkName("KV type", kvTypeNameOf(found.kvType), kvTypeNameOf(expected.kvType)));
  FIRN_RETURN_IF_ERROR(checkNumber("vocabulary size", found.vocab, expected.vocab));
  FIRN_RETURN_IF_ERROR(checkHash("weights hash", found.weightsHash, expected.weightsHash));
  return checkHash("program hash", found.programHash, expected.programHash);
}

Status checkFormat(const SnapshotHeader& header) {
  if (header.magic != kSnapshotMagic) return corrupt("the file is no snapshot: it does not start with FIRNSNP");
  if (header.formatMajor != kSnapshotMajor || header.formatMinor != kSnapshotMinor) {
    return versionMismatch(concat("the snapshot has format ", header.formatMajor, ".", header.formatMinor,
                                  ", this program reads ", kSnapshotMajor, ".", kSnapshotMinor));
  }
  return Status::ok();
}

Status tooShort(uint64_t bytes) {
  return corrupt(concat("the snapshot has ", bytes, " bytes, its header alone takes ", sizeof(SnapshotHeader)));
}

/// Sizes and reserved fields, against each other and the file.
Status checkSizes(const SnapshotHeader& header, uint64_t fileBytes) {
  if (header.fileBytes != fileBytes) {
    return corrupt(concat("the snapshot has ", fileBytes, " bytes, its header says ", header.fileBytes));
  }
  const SnapshotIdentity& identity = header.identity;
  if (header.tokens > identity.kvRows || header.exactTokens > header.tokens) {
    return corrupt(concat("the snapshot holds ", header.tokens, " tokens, ", header.exactTokens, " of them exact, in ",
                          identity.kvRows, " rows"));
  }
  const bool isZero =
      identity.reserved0 == 0 && std::ranges::all_of(header.reserved0, [](uint8_t b) { return b == 0; });
  if (!isZero) return corrupt("a reserved field of the snapshot is not zero");
  return Status::ok();
}

struct FileBytes {
  uint64_t found;
  uint64_t most;
};

/// Most likely it is one of a larger model, which its header says.
Status whyTooLarge(const SnapshotHeader& header, const SnapshotIdentity& identity, const FileBytes& bytes) {
  FIRN_RETURN_IF_ERROR(checkFormat(header));
  FIRN_RETURN_IF_ERROR(checkIdentity(header.identity, identity));
  return corrupt(concat("the snapshot has ", bytes.found, " bytes; the largest for this model has ", bytes.most));
}

/// Adds numbers and bytes to a hash, field by field.
class ProgramHash {
 public:
  /// Which layers the part runs, and on what: rows of another target differ.
  void addPlace(const blob::Blob& blob, const blob::EntryRecord& part) {
    add(part.target, part.part);
    for (const blob::CallRecord& call : blob.callsOf(part)) {
      if (call.layer != blob::kNoLayer) add(call.layer);
    }
  }

  /// What the tasks compute, addresses aside.
  void addTasks(const blob::Blob& blob, const blob::EntryRecord& part) {
    for (const blob::CallRecord& call : blob.callsOf(part)) {
      for (const blob::SegmentRecord& segment : blob.segmentsOf(blob.bodies()[call.body])) {
        for (const blob::LaneRange& range : blob.lanesOf(segment)) {
          add(range.taskCount);
          for (const blob::TaskRecord& task : blob.tasksOf(range)) addTask(blob, task);
        }
      }
    }
  }

  Hash128 digest() const { return hasher_.digest(); }

 private:
  template <typename... Values>
  void add(Values... values) {
    const uint64_t words[] = {static_cast<uint64_t>(values)...};
    hasher_.update(std::as_bytes(std::span(words)));
  }

  void addTask(const blob::Blob& blob, const blob::TaskRecord& task) {
    add(task.op, task.operandCount, task.attrCount);
    hasher_.update(std::as_bytes(blob.attrsOf(task)));
    for (const blob::OperandRecord& operand : blob.operandsOf(task)) {
      add(operand.space, operand.dtype, operand.layout, operand.rank);
      hasher_.update(bytesOf(operand.dims));
    }
  }

  Hasher128 hasher_;
};

/// What generate.<T> computes: other ladders of the same model have the same. With several targets also where the
/// prefills run, which a compile cuts all alike.
Hash128 programHash(const blob::Blob& blob) {
  ProgramHash hash;
  const bool isMixed = blob.targets().size() > 1;
  bool hasPrefill = false;
  for (const blob::EntryRecord& entry : blob.entries()) {
    const bool isGenerate = entry.kind == blob::EntryKind::kGenerate && entry.context == blob.header().kvRows;
    const bool isPrefill = isMixed && entry.kind == blob::EntryKind::kPrefill && !hasPrefill;
    hasPrefill = hasPrefill || (isPrefill && entry.part + 1 == entry.parts);
    if (isMixed && (isGenerate || isPrefill)) hash.addPlace(blob, entry);
    if (isGenerate) hash.addTasks(blob, entry);
  }
  return hash.digest();
}

}  // namespace

SnapshotIdentity SnapshotIdentity::of(const blob::Blob& blob) {
  const blob::ProgramHeader& header = blob.header();
  uint32_t targets = 0;
  for (const blob::Target target : blob.targets()) targets |= uint32_t{1} << static_cast<uint32_t>(target);
  return {.modelHash = blob.ident().modelHash,
          .weightsHash = blob.ident().weightsHash,
          .programHash = engine::programHash(blob),
          .targets = targets,
          .arithmeticId = blob.ident().arithmeticId,
          .lanes = blob.ident().lanes,
          .layers = header.layers,
          .kvHeads = header.kvHeads,
          .headDim = header.headDim,
          .kvRows = header.kvRows,
          .kvType = static_cast<uint32_t>(header.kvType),
          .vocab = header.vocab,
          .reserved0 = 0};
}

uint64_t snapshotBytes(const KvLayout& layout, uint32_t tokens) {
  return rowsOffset(tokens) + layout.packedBytes(tokens);
}

Status writeSnapshot(const std::string& path, const SnapshotContents& contents) {
  const auto tokens = static_cast<uint32_t>(contents.ids.size());
  SnapshotHeader header{};
  header.magic = kSnapshotMagic;
  header.formatMajor = kSnapshotMajor;
  header.formatMinor = kSnapshotMinor;
  header.identity = contents.identity;
  header.tokens = tokens;
  header.exactTokens = contents.exactTokens;
  header.rowBytes = contents.layout.packedRowBytes();
  header.fileBytes = snapshotBytes(contents.layout, tokens);

  FIRN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  Hasher128 hasher;
  const auto append = [&](std::span<const std::byte> bytes) {
    hasher.update(bytes);
    return file.append(bytes);
  };
  FIRN_RETURN_IF_ERROR(append(bytesOf(header)));
  FIRN_RETURN_IF_ERROR(append(std::as_bytes(contents.ids)));
  const std::array<std::byte, kAlignment> zeros{};
  FIRN_RETURN_IF_ERROR(append(std::span(zeros).first(rowsOffset(tokens) - file.size())));
  // As KvLayout::pack does, without the memory: of each part the rows of its heads, then their scales.
  const KvLayout& layout = contents.layout;
  for (uint32_t first = 0; first < layout.heads; first += layout.kvHeads) {
    for (uint32_t head = first; head < first + layout.kvHeads; ++head) {
      FIRN_RETURN_IF_ERROR(append(contents.cache.subspan(layout.offset(head, 0), tokens * layout.rowBytes)));
    }
    for (uint32_t head = first; head < first + layout.kvHeads && layout.scaleBytes != 0; ++head) {
      FIRN_RETURN_IF_ERROR(append(contents.cache.subspan(layout.scaleOffset(head, 0), tokens * layout.scaleBytes)));
    }
  }
  header.contentHash = hasher.digest();
  FIRN_RETURN_IF_ERROR(file.writeAt(0, bytesOf(header)));
  return file.commit();
}

Result<PageBuffer> readSnapshot(const std::string& path, const SnapshotIdentity& identity, const KvLayout& layout) {
  FIRN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const uint64_t limit = snapshotBytes(layout, layout.rows);
  if (file.size() > limit) {
    SnapshotHeader header;
    FIRN_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(&header, 1))));
    return whyTooLarge(header, identity, {.found = file.size(), .most = limit}).withPlace(printablePath(path));
  }
  Result<PageBuffer> bytes = PageBuffer::allocate(file.size());
  if (!bytes) return bytes.status().withPlace(printablePath(path));
  FIRN_RETURN_IF_ERROR(file.readAt(0, bytes->bytes()));
  return bytes;
}

Status checkSnapshot(const std::string& path, const std::function<void(SnapshotIdentity&)>& addKnown) {
  FIRN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const auto check = [&]() -> Status {
    if (file.size() < sizeof(SnapshotHeader)) return tooShort(file.size());
    SnapshotHeader header;
    FIRN_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(&header, 1))));
    FIRN_RETURN_IF_ERROR(checkFormat(header));
    SnapshotIdentity expected = header.identity;
    addKnown(expected);
    return checkIdentity(header.identity, expected);
  };
  return check().withPlace(printablePath(path));
}

Result<SnapshotView> parseSnapshot(std::span<const std::byte> file, const SnapshotIdentity& identity,
                                   const KvLayout& layout) {
  SnapshotHeader header;
  if (file.size() < sizeof(header)) {
    return tooShort(file.size());
  }
  std::memcpy(&header, file.data(), sizeof(header));
  FIRN_RETURN_IF_ERROR(checkFormat(header));
  FIRN_RETURN_IF_ERROR(checkSizes(header, file.size()));
  const Hash128 hash = contentHash(file);
  if (hash != header.contentHash) {
    return corrupt(
        concat("the snapshot was changed: its hash is ", toHex(hash), ", its header says ", toHex(header.contentHash)));
  }
  FIRN_RETURN_IF_ERROR(checkIdentity(header.identity, identity));
  if (header.rowBytes != layout.packedRowBytes() || file.size() != snapshotBytes(layout, header.tokens)) {
    return corrupt(concat("a snapshot of ", header.tokens, " rows of ", layout.packedRowBytes(), " bytes has ",
                          snapshotBytes(layout, header.tokens), " bytes; this one has ", file.size(), " with rows of ",
                          header.rowBytes));
  }
  SnapshotView view;
  view.ids = {reinterpret_cast<const int32_t*>(file.data() + sizeof(header)), header.tokens};
  view.exactTokens = header.exactTokens;
  view.rows = file.subspan(rowsOffset(header.tokens));
  if (const Status ids = checkIds(view.ids, identity.vocab); !ids.isOk()) {
    return corrupt(concat("in the snapshot, ", ids.message()));
  }
  const uint64_t idsEnd = sizeof(header) + view.ids.size_bytes();
  const auto padding = file.subspan(idsEnd, rowsOffset(header.tokens) - idsEnd);
  if (!std::ranges::all_of(padding, [](std::byte b) { return b == std::byte{0}; })) {
    return corrupt("the padding behind the ids of the snapshot is not zero");
  }
  return view;
}

void sealSnapshot(std::span<std::byte> file) {
  const Hash128 hash = contentHash(file);
  std::memcpy(file.data() + offsetof(SnapshotHeader, contentHash), &hash, sizeof(hash));
}

}  // namespace firn::engine
