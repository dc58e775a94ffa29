package hindmost.hadoop;

import java.util.List;
import java.util.Map;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.YarnApplicationAttemptState;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.YarnClient;

/** A master of an application that runs in our own process: the resource manager starts nothing for it. */
final class UnmanagedMaster {
  private UnmanagedMaster() {}

  static AMRMClient<AMRMClient.ContainerRequest> register(YarnClient client) throws Exception {
    ApplicationSubmissionContext asked = client.createApplication().getApplicationSubmissionContext();
    ApplicationId id = asked.getApplicationId();
    asked.setApplicationName("batch");
    asked.setUnmanagedAM(true);
    asked.setQueue("default");
    asked.setResource(Resource.newInstance(256, 1));
    asked.setAMContainerSpec(ContainerLaunchContext.newInstance(
        Map.of(), Map.of(), List.of(), null, null, null));
    client.submitApplication(asked);
    Check.await("an unmanaged master", 30, () -> {
      var report = client.getApplicationReport(id);
      return report.getCurrentApplicationAttemptId() != null
          && client.getApplicationAttemptReport(report.getCurrentApplicationAttemptId())
              .getYarnApplicationAttemptState() == YarnApplicationAttemptState.LAUNCHED;
    });
    UserGroupInformation.getCurrentUser().addToken(client.getAMRMToken(id));
    AMRMClient<AMRMClient.ContainerRequest> batch = AMRMClient.createAMRMClient();
    batch.init(client.getConfig());
    batch.start();
    batch.registerApplicationMaster("localhost", 0, "");
    return batch;
  }
}
