// The sample of sample_program.h for target npu: every task op that it has, on the little machine of
// blob/machine/sample_machine_for_test.h. Tasks run one after the other, in the order that one would compute them.
#pragma once

#include "blob/sample_program.h"
#include "blob/writer.h"

namespace firn::blob {

/// sampleContents for the npu: its entries but for the batch, whose rows have caches that the npu does not reach; one
/// lane, an f16 cache.
Contents npuSampleContents(SampleSize size);

}  // namespace firn::blob
