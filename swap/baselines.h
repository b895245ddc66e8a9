// Baseline planners with a published rule of their own: the given order, no search. What a rule cannot make
// fit is swapped on demand by the walk (Belady, exact offsets) and counted in `predicted.fallback_bytes`.
#pragma once

#include <swapadvisor/swap/planner.h>

#include <cstdint>

namespace swapadvisor {

/// TensorFlow Large Model Support (Le et al., ISMM 2018). A value whose next use is far away in topological
/// distance is swapped out when it is made, leaves after its last near use, and comes back a fixed number of
/// ops ahead. Distance and number are tuned by simulation, as its second version does. Parameters stay.
class TflmsPlanner : public Planner {
 public:
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;
};

/// vDNN (Rhu et al., MICRO 2016). The input of a layer is offloaded while its last forward reader runs, and
/// the next layer waits for that. A backward layer prefetches the offloaded input that is needed next, and
/// the layer behind it waits for that. Parameters stay.
class VdnnPlanner : public Planner {
 public:
  enum class Layers : std::uint8_t { convolution, all };
  explicit VdnnPlanner(Layers layers) : layers_(layers) {}
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;

 private:
  Layers layers_;
};

/// SuperNeurons (Wang et al., PPoPP 2018), without its cache: outputs of convolution-like ops are offloaded
/// as they are made and prefetched one such layer ahead; the cheap ops between them are run again, segment by
/// segment: once where the segment is no larger than the neediest op, else once per backward op that needs
/// it.
class SuperNeuronsPlanner : public Planner {
 public:
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;
};

/// Sublinear memory (Chen et al., 2016): about √n segments of the forward pass, what crosses their boundaries
/// is kept, everything else is run again. No swaps.
class CheckpointPlanner : public Planner {
 public:
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;
};

/// After ZeRO-Offload (Ren et al., ATC 2021): optimizer states, which are those that no forward op touches,
/// live in the host store. They come in for their update, one update ahead, and leave after it; the update
/// itself runs on the device, where the original runs it on the host.
class ZeroOffloadPlanner : public Planner {
 public:
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;
};

}  // namespace swapadvisor
