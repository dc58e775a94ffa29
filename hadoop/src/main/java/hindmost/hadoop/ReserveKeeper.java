package hindmost.hadoop;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocol;
import org.apache.hadoop.yarn.server.api.protocolrecords.UpdateNodeResourceRequest;

/**
 * Leaves a node's batch work what its primary tenant and a reserve do not need. A node that shrinks below what is
 * allocated loses its youngest containers: stock's own rule, after a grace.
 */
public final class ReserveKeeper {
  private final ResourceManagerAdministrationProtocol admin;
  private final double reserve;
  private final int graceMillis;

  /** A reserve is a share of cores and memory; the paper keeps a third. */
  public ReserveKeeper(ResourceManagerAdministrationProtocol admin, double reserve, int graceMillis) {
    this.admin = admin;
    this.reserve = reserve;
    this.graceMillis = graceMillis;
  }

  /** What batch work may have of a node whose primary tenant uses so many cores and megabytes, both rounded up. */
  public Resource left(Resource whole, double cores, double megabytes) {
    long memory = whole.getMemorySize() - (long) Math.ceil(megabytes) - (long) Math.ceil(reserve * whole.getMemorySize());
    int vcores = whole.getVirtualCores() - (int) Math.ceil(cores) - (int) Math.ceil(reserve * whole.getVirtualCores());
    return Resource.newInstance(Math.max(0, memory), Math.max(0, vcores));
  }

  /** Tells the resource manager what is left of each node. A node that registers again comes back whole: tell it often. */
  public void keep(Map<NodeId, Resource> left) throws IOException, YarnException {
    Map<NodeId, ResourceOption> options = new HashMap<>();
    left.forEach((node, resource) -> options.put(node, ResourceOption.newInstance(resource, graceMillis)));
    admin.updateNodeResource(UpdateNodeResourceRequest.newInstance(options));
  }
}
