// Several requests on one model at once, and three answers to one of them.
#include "engine/scheduler.h"
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

/// The likeliest token each time, but for the first one of each answer: the likeliest, the second likeliest, ...
std::optional<int32_t> chooseToken(const engine::NextTokenInput& input) {
  const size_t rank = input.tokens.empty() ? input.answer : 0;
  if (rank >= input.top.size()) return std::nullopt;  // fewer than topK where logits are NaN
  return input.top[rank].id;
}

Status run(const std::shared_ptr<engine::Model>& model) {
  FIRN_ASSIGN_OR_RETURN(const auto scheduler, engine::Scheduler::create(model, {.slots = 4}));
  std::vector<engine::Ticket> tickets;
  for (int32_t first = 1; first <= 6; ++first) {  // two of them wait for a slot
    engine::Request request{.prompt = {first, 2, 3}, .next = chooseToken};
    request.maxTokens = 5;
    request.answers = first == 1 ? 3 : 1;
    request.topK = 3;
    FIRN_ASSIGN_OR_RETURN(const engine::Ticket ticket, scheduler->submit(request));
    tickets.push_back(ticket);
  }
  for (size_t i = 0; i < tickets.size(); ++i) {
    FIRN_ASSIGN_OR_RETURN(const engine::Response response, tickets[i].wait());
    for (const engine::Answer& answer : response.answers) {
      std::printf("request %zu:", i + 1);
      for (const int32_t id : answer.tokens) std::printf(" %d", id);
      std::printf("\n");
    }
  }
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
