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
 * Gives a node's batch work what its primary tenant and the reserve leave. A node that shrinks below its allocation
 * loses its youngest containers after a grace period: this is stock's rule.
 */
public final class ReserveKeeper {
  private final ResourceManagerAdministrationProtocol admin;
  private final double reserve;
  private final int graceMillis;

  /** The reserve is a share of cores and memory; the paper keeps a third. */
  public ReserveKeeper(ResourceManagerAdministrationProtocol admin, double reserve, int graceMillis) {
    this.admin = admin;
    this.reserve = reserve;
    this.graceMillis = graceMillis;
  }

  /**
   * Return what batch work may use of a node, given the tenant's use in cores and megabytes. All shares are rounded up.
   */
  public Resource left(Resource whole, double cores, double megabytes) {
    long memory = whole.getMemorySize() - (long) Math.ceil(megabytes) - (long) Math.ceil(reserve * whole.getMemorySize());
    int vcores = whole.getVirtualCores() - (int) Math.ceil(cores) - (int) Math.ceil(reserve * whole.getVirtualCores());
    return Resource.newInstance(Math.max(0, memory), Math.max(0, vcores));
  }

  /**
   * Set the capacity of each node at the resource manager. Repeat it often: a node that registers again has its whole
   * capacity.
   */
  public void keep(Map<NodeId, Resource> left) throws IOException, YarnException {
    Map<NodeId, ResourceOption> options = new HashMap<>();
    left.forEach((node, resource) -> options.put(node, ResourceOption.newInstance(resource, graceMillis)));
    admin.updateNodeResource(UpdateNodeResourceRequest.newInstance(options));
  }
}
