// The phases of the compiler between import and blob, each one pass. Phases in order: stateless, freeze, fold, place
// (graph IR, docs/ops.md). Not here: lower and schedule (task_passes.h), those for machines (npu/passes.h), the
// pipeline and its options as a user gives them (compiler/driver.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/placement.h"

namespace mlir {
class Pass;
}  // namespace mlir

namespace firn::passes {

/// State becomes arguments and results. @model gets the arguments valid, row0, mask and one per graph.state (in the
/// module's order, named like it), and one more result per state; state_write becomes cache_update, attention gets mask
/// and row0. Errors: graph.stateless_c1 (no single @model), _c2 (a state written twice), _c3 (read before written).
std::unique_ptr<mlir::Pass> createStatelessPass();

/// Which static programs to make. All values are in rows (tokens), final: nothing is rounded or added here.
struct FreezeOptions {
  std::vector<int64_t> chunks;               ///< m of prefill entries, ascending, 1 .. kvRows
  std::vector<int64_t> contexts;             ///< c, ascending, 1 .. kvRows; prefill and batch use those >= m
  std::vector<int64_t> batches{};            ///< rows of batch entries, ascending, 2 and more; may be empty
  int64_t kvRows = 0;                        ///< T
  std::vector<int64_t> headRows{1, 16, 64};  ///< rows of head entries, ascending
  int64_t topTokens = 0;                     ///< K of the lists of the best logits, up to the vocabulary; 0: none
};

/// One static clone of @model per entry: @prefill.<chunk>.<context> (returns the hidden rows before the last norm),
/// @generate.<context> (one row, returns logits), @batch.<rows>.<context> (a generate step of rows that each have a
/// cache, mask and row0 of their own), @head.<rows> (hidden rows to logits); @model is gone. Behind the logits an entry
/// returns the best of them (graph.top_k). Errors:
/// graph.freeze_c1 (no single @model), _c2 (options), _c3 (logits are no norm and head of one residual stream).
std::unique_ptr<mlir::Pass> createFreezePass(const FreezeOptions& options);

/// The decoder layers of every entry become calls. A layer begins at the last point before its cache ops where nothing
/// but the residual stream is alive. Layers that are equal op by op, attribute by attribute and weight type by weight
/// type share one body @block.<m>, whatever the context; a layer that differs in anything gets @block.<m>.1 and so on.
/// Errors: graph.fold_c1 (an entry that has no such points).
std::unique_ptr<mlir::Pass> createFoldPass();

/// Where to run.
struct PlaceOptions {
  std::string target = "cpu";                  ///< a name of blob/names.h
  std::string prefillTarget{};                 ///< of prefill entries; empty: target
  std::string decodeTarget{};                  ///< of all other entries; empty: target
  std::vector<compiler::PlaceRange> places{};  ///< single layers and the head
};

/// Every function gets its device and the reason. An entry whose layers run on several becomes a function for each, in
/// order, named @prefill.<chunk>.<context>.p<part>; a body that several targets run gets a copy for each, named after
/// it. What a target cannot run goes to one that can, with a warning. Errors: graph.place_c1 (no such target), _c2 (an
/// op that no target can run), _c3 (places), _c4 (more than the hidden rows alive at a cut).
std::unique_ptr<mlir::Pass> createPlacePass(const PlaceOptions& options);

/// Makes the passes above known to firn-opt as --graph-stateless, --graph-freeze, --graph-fold, --graph-place.
void registerGraphPasses();

}  // namespace firn::passes
