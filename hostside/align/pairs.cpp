// SPDX-License-Identifier: Apache-2.0
#include "align/pairs.h"

#include <fmt/format.h>

#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "decode/stem.h"

namespace dumphook {
namespace {

using Tensors = std::vector<SideTensor>;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

struct Matcher {
  const Tensors& target;
  const Tensors& golden;
  std::vector<size_t> golden_of;  // by target, kNone: unmatched
  std::vector<std::string> note_of;
  std::vector<bool> settled;  // by target: matched, or known to have no counterpart
  std::vector<bool> golden_taken;

  Matcher(const Tensors& t, const Tensors& g)
      : target(t),
        golden(g),
        golden_of(t.size(), kNone),
        note_of(t.size()),
        settled(t.size(), false),
        golden_taken(g.size(), false) {}

  void take(size_t t, size_t g, std::string note) {
    golden_of[t] = g;
    note_of[t] = std::move(note);
    settled[t] = golden_taken[g] = true;
  }
};

// The tensor of that name that `like` would be: of the same run.
std::optional<size_t> find_run(const Tensors& tensors, const std::string& name, const SideTensor& like) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].descriptor.name == name && tensors[i].instance == like.instance &&
        tensors[i].occurrence == like.occurrence)
      return i;
  return {};
}

std::optional<size_t> find_label(const Tensors& tensors, const std::string& label) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].label() == label) return i;
  return {};
}

// An entry for a name holds for all its runs, unless one has an entry of its own.
void match_by_map(Matcher& matcher, const NameMap& map, std::vector<std::string>& notes) {
  std::set<std::string> used;
  for (size_t t = 0; t < matcher.target.size(); ++t) {
    const SideTensor& target = matcher.target[t];
    auto entry = map.find(target.label());
    const bool by_label = entry != map.end();
    if (!by_label) entry = map.find(target.descriptor.name);
    if (entry == map.end()) continue;
    used.insert(entry->first);
    matcher.settled[t] = true;
    const auto g =
        by_label ? find_label(matcher.golden, entry->second) : find_run(matcher.golden, entry->second, target);
    if (g) {
      matcher.take(t, *g, fmt::format("mapped to {}", matcher.golden[*g].label()));
    } else {
      matcher.note_of[t] = fmt::format("mapped to {}, which is not there", entry->second);
      notes.push_back(fmt::format("the map names golden tensor {}, which is not there", entry->second));
    }
  }
  for (const auto& entry : map)
    if (used.count(entry.first) == 0)
      notes.push_back(fmt::format("the map names target tensor {}, which is not there", entry.first));
}

// Equal keys, in linear time.
template <class KeyOf>
void match_by(Matcher& matcher, KeyOf key_of) {
  std::map<decltype(key_of(matcher.golden[0])), std::deque<size_t>> free;
  for (size_t g = 0; g < matcher.golden.size(); ++g)
    if (!matcher.golden_taken[g]) free[key_of(matcher.golden[g])].push_back(g);
  for (size_t t = 0; t < matcher.target.size(); ++t) {
    if (matcher.settled[t]) continue;
    const auto found = free.find(key_of(matcher.target[t]));
    if (found == free.end() || found->second.empty()) continue;
    matcher.take(t, found->second.front(), {});
    found->second.pop_front();
  }
}

void match_by_origin(Matcher& matcher) {
  for (size_t t = 0; t < matcher.target.size(); ++t) {
    const auto& origins = matcher.target[t].descriptor.origin_names;
    for (auto origin = origins.rbegin(); origin != origins.rend() && !matcher.settled[t]; ++origin) {
      const auto g = find_run(matcher.golden, *origin, matcher.target[t]);
      if (g && !matcher.golden_taken[*g]) matcher.take(t, *g, fmt::format("origin {}", matcher.golden[*g].label()));
    }
  }
}

// The file that `dumphook export` makes of it; of a capture of one model, and of several.
std::string short_stem(const SideTensor& tensor) {
  return tensor.stem.empty() ? stem_of(tensor.descriptor.name, tensor.occurrence, tensor.instance) : tensor.stem;
}
std::string long_stem(const SideTensor& tensor) {
  return tensor.stem.empty() ? stem_of_name(tensor.descriptor.model) + "!" + short_stem(tensor) : tensor.stem;
}

bool is_input(const SideTensor* tensor) {
  return tensor && (tensor->descriptor.role == Role::input || tensor->descriptor.role == Role::preprocessed);
}

// Positions on both sides: the leading side's in its order; what only the other has goes behind its predecessor there.
struct Row {
  size_t lead = kNone, other = kNone;
};
std::vector<Row> merge(const std::vector<size_t>& other_of_lead, size_t other_count) {
  const std::set<size_t> matched(other_of_lead.begin(), other_of_lead.end());
  std::map<size_t, std::vector<size_t>> behind;  // matched other position (kNone: at the start) -> unmatched ones
  size_t predecessor = kNone;
  for (size_t other = 0; other < other_count; ++other) {
    if (matched.count(other))
      predecessor = other;
    else
      behind[predecessor].push_back(other);
  }
  std::vector<Row> rows;
  for (size_t other : behind[kNone]) rows.push_back({kNone, other});
  for (size_t lead = 0; lead < other_of_lead.size(); ++lead) {
    const size_t partner = other_of_lead[lead];
    rows.push_back({lead, partner});
    if (partner == kNone) continue;
    for (size_t other : behind[partner]) rows.push_back({kNone, other});
    behind.erase(partner);
  }
  return rows;
}

bool nobody_misses(const Pair& pair) {
  if (pair.target && pair.golden) return false;
  if (pair.target) return pair.target->presence != Presence::whole && !pair.target->expected;
  return pair.golden->presence != Presence::whole;
}

}  // namespace

Alignment align(Side target_side, Side golden_side, const NameMap& map) {
  Alignment result;
  auto target = std::make_shared<const Side>(std::move(target_side));
  auto golden = std::make_shared<const Side>(std::move(golden_side));
  const Tensors &t = target->tensors, &g = golden->tensors;

  Matcher matcher(t, g);
  match_by_map(matcher, map, result.notes);
  const auto run_of = [](const SideTensor& tensor) {
    return std::tuple(tensor.descriptor.name, tensor.instance, tensor.occurrence);
  };
  match_by(matcher, [&](const SideTensor& tensor) { return std::pair(tensor.descriptor.model, run_of(tensor)); });
  match_by(matcher, long_stem);
  match_by(matcher, short_stem);
  match_by(matcher, run_of);
  match_by_origin(matcher);

  const bool golden_leads = !target->order_known && golden->order_known;
  std::vector<size_t> target_of(g.size(), kNone);
  for (size_t i = 0; i < t.size(); ++i)
    if (matcher.golden_of[i] != kNone) target_of[matcher.golden_of[i]] = i;

  const auto rows = golden_leads ? merge(target_of, t.size()) : merge(matcher.golden_of, g.size());
  for (const Row& row : rows) {
    const size_t ti = golden_leads ? row.other : row.lead;
    size_t gi = golden_leads ? row.lead : row.other;
    if (ti != kNone) gi = matcher.golden_of[ti];  // a map may give one golden to several targets
    Pair pair;
    if (ti != kNone) {
      pair.target = &t[ti];
      pair.note = matcher.note_of[ti];
    }
    if (gi != kNone) pair.golden = &g[gi];
    if (nobody_misses(pair)) continue;
    (is_input(pair.target) || is_input(pair.golden) ? result.inputs : result.layers).push_back(pair);
  }
  result.target = std::move(target);
  result.golden = std::move(golden);
  return result;
}

}  // namespace dumphook
