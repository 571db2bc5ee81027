#include "runtime/backend.h"

#include <algorithm>
#include <vector>

#include "base/concat.h"
#include "blob/names.h"

namespace firn::runtime {

Status checkTarget(const blob::Blob& blob, blob::Target target, std::string_view device) {
  const std::vector<blob::Target> targets = blob.targets();
  if (std::ranges::find(targets, target) != targets.end()) return Status::ok();
  return versionMismatch(concat(blob.path(), ": a program for target ", blob::targetName(targets.front()), ", device ",
                                device, " runs target ", blob::targetName(target),
                                "; compile the model for it or open another device"));
}

}  // namespace firn::runtime
