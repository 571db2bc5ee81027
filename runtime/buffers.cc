#include "runtime/buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace firn::runtime {
namespace {

constexpr uint64_t kHugePage = 2ULL << 20;

uint64_t physicalBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long pageSize = sysconf(_SC_PAGESIZE);
  return pages > 0 && pageSize > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(pageSize) : UINT64_MAX;
}

Status refuse(uint64_t bytes, const std::string& reason) {
  return resourceExhausted("cannot allocate " + std::to_string(bytes) + " bytes of device memory: " + reason);
}

}  // namespace

PageMemory::PageMemory(PageMemory&& other) noexcept { *this = std::move(other); }

PageMemory& PageMemory::operator=(PageMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapping_, other.mapping_);
  std::swap(mappedBytes_, other.mappedBytes_);
  return *this;
}

PageMemory::~PageMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mappedBytes_);
}

Result<PageMemory> PageMemory::allocate(uint64_t bytes) {
  const uint64_t physical = physicalBytes();
  if (bytes > physical) {
    return refuse(bytes, "the machine has " + std::to_string(physical) + "; use a smaller context or model");
  }
  const bool huge = bytes >= kHugePage;
  PageMemory memory;
  // Room to shift the start up to the next 2 MiB boundary; untouched pages cost nothing.
  memory.mappedBytes_ = huge ? (bytes + kHugePage - 1) / kHugePage * kHugePage + kHugePage : bytes;
  void* mapping = mmap(nullptr, memory.mappedBytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return refuse(bytes, std::strerror(errno));
  memory.mapping_ = mapping;
  memory.data_ = static_cast<std::byte*>(mapping);
  memory.bytes_ = bytes;
  if (huge) {
    const uint64_t past = reinterpret_cast<uintptr_t>(mapping) % kHugePage;
    if (past != 0) memory.data_ += kHugePage - past;
    madvise(memory.data_, memory.mappedBytes_ - kHugePage, MADV_HUGEPAGE);  // advice only: refusal changes no result
  }
  return memory;
}

Result<BufferId> BufferTable::alloc(uint64_t bytes) {
  if (bytes == 0) return invalidArgument("alloc: 0 bytes asked for, expected at least 1");
  if (nextId_ == UINT32_MAX) return resourceExhausted("alloc: all buffer ids of this device are used up; open another");
  FIRN_ASSIGN_OR_RETURN(PageMemory memory, PageMemory::allocate(bytes));
  const uint32_t id = nextId_++;
  buffers_.emplace(id, std::move(memory));
  return BufferId{id};
}

Status BufferTable::free(BufferId id) {
  if (buffers_.erase(static_cast<uint32_t>(id)) == 1) return Status::ok();
  return invalidArgument("free: buffer " + std::to_string(static_cast<uint32_t>(id)) + " is unknown or already freed");
}

Result<std::span<std::byte>> BufferTable::find(BufferId id) const {
  const auto it = buffers_.find(static_cast<uint32_t>(id));
  if (it == buffers_.end()) {
    return invalidArgument("buffer " + std::to_string(static_cast<uint32_t>(id)) + " is unknown or already freed");
  }
  return std::span<std::byte>(it->second.data(), it->second.bytes());
}

}  // namespace firn::runtime
