#include "blob/reader.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/concat.h"
#include "base/quote.h"
#include "blob/verifier.h"

namespace firn::blob {

namespace {

/// Enough for the headers and, where it stands in every version so far, the note.
constexpr uint64_t kHeadBytes = 4096;

/// Bytes to copy before verification: the file up to its weights.
Result<uint64_t> outsideBytesOf(std::span<const std::byte> head, uint64_t fileBytes) {
  // The version first: another one may lay out its sections in another way.
  FIRN_RETURN_IF_ERROR(readIdent(head).status());
  return probeOutsideBytes(head, fileBytes);
}

}  // namespace

Status Blob::verify(uint64_t fileBytes) {
  FIRN_ASSIGN_OR_RETURN(const VerifiedOutside verified, verifyOutside(outside_.bytes(), fileBytes));
  ident_ = verified.ident;
  frame_ = verified.frame;
  program_ = verified.program;
  return Status::ok();
}

Result<Blob> Blob::open(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  Blob blob;
  blob.path_ = path;
  blob.file_ = std::move(file);
  const uint64_t size = blob.file_.size();
  std::vector<std::byte> head(std::min(size, kHeadBytes));
  FIRN_RETURN_IF_ERROR(blob.file_.readAt(0, head));
  const Result<uint64_t> outsideBytes = outsideBytesOf(head, size);
  if (!outsideBytes.isOk()) return outsideBytes.status().withPlace(printablePath(path));
  FIRN_ASSIGN_OR_RETURN(blob.outside_, PageBuffer::allocate(*outsideBytes));
  FIRN_RETURN_IF_ERROR(blob.file_.readAt(0, blob.outside_.bytes()));
  if (Status status = blob.verify(size); !status.isOk()) return status.withPlace(printablePath(path));
  blob.weights_ = blob.file_.bytes().subspan(*outsideBytes);
  return blob;
}

Result<Blob> Blob::fromMemory(std::span<const std::byte> file) {
  Blob blob;
  blob.path_ = "<memory>";
  FIRN_ASSIGN_OR_RETURN(const uint64_t outsideBytes,
                        outsideBytesOf(file.first(std::min<uint64_t>(file.size(), kHeadBytes)), file.size()));
  FIRN_ASSIGN_OR_RETURN(blob.outside_, PageBuffer::allocate(outsideBytes));
  std::ranges::copy(file.first(outsideBytes), blob.outside_.bytes().begin());
  FIRN_RETURN_IF_ERROR(blob.verify(file.size()));
  const auto weights = file.subspan(outsideBytes);
  FIRN_ASSIGN_OR_RETURN(blob.weightsInMemory_, PageBuffer::allocate(weights.size()));
  std::ranges::copy(weights, blob.weightsInMemory_.bytes().begin());
  blob.weights_ = blob.weightsInMemory_.bytes();
  return blob;
}

Status Blob::verifyWeights() const {
  if (!hasWeights()) {
    return unsupported(concat(printablePath(path_),
                              ": the blob was compiled without its weights, so there are none to "
                              "check; compile the model without --weights none"));
  }
  const Hash128 hash = hash128(weights_);
  if (hash == ident_.weightsHash) return Status::ok();
  return corrupt(concat(printablePath(path_), ": the weights have hash ", toHex(hash), ", the note says ",
                        toHex(ident_.weightsHash), ": the file is damaged, compile the model again"));
}

std::vector<Target> Blob::targets() const {
  std::vector<Target> targets = {ident_.target};
  for (const EntryRecord& entry : entries()) {
    if (std::ranges::find(targets, entry.target) == targets.end()) targets.push_back(entry.target);
  }
  return targets;
}

std::optional<uint32_t> Blob::findEntry(std::string_view name) const {
  for (uint32_t i = 0; i < entries().size(); ++i) {
    if (string(entries()[i].name) == name) return i;
  }
  return std::nullopt;
}

const SymbolRecord* Blob::findSymbol(const EntryRecord& entry, SymbolKind kind) const {
  for (const SymbolRecord& symbol : symbolsOf(entry)) {
    if (symbol.kind == kind) return &symbol;
  }
  return nullptr;
}

}  // namespace firn::blob
