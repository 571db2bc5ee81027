// What a program says when a file that it has mapped loses bytes under it.
#pragma once

namespace firn::tools {

/// From here on, a touch of a mapped page that its file no longer has (it was cut short, or its disk failed) prints
/// "firn: io: PATH ..." to standard error, removes what is being written (base/atomic_file.h) and ends the process with
/// exit code 1, whichever thread it was. Models and blobs are mapped and never copied, so nothing can be computed
/// without the lost bytes; libraries leave SIGBUS to the program. Any other SIGBUS ends the process as it would without
/// this. `program` stands in front of the message and must live on.
void reportMappingFaults(const char* program);

}  // namespace firn::tools
