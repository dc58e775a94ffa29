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

/** An application master that runs in this process: the resource manager starts no container for it. */
final class UnmanagedMaster {
  private UnmanagedMaster() {}

  static AMRMClient<AMRMClient.ContainerRequest> register(YarnClient client) throws Exception {
    ApplicationSubmissionContext submission = client.createApplication().getApplicationSubmissionContext();
    ApplicationId id = submission.getApplicationId();
    submission.setApplicationName("batch");
    submission.setUnmanagedAM(true);
    submission.setQueue("default");
    submission.setResource(Resource.newInstance(256, 1));
    submission.setAMContainerSpec(ContainerLaunchContext.newInstance(
        Map.of(), Map.of(), List.of(), null, null, null));
    client.submitApplication(submission);
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
