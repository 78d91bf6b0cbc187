import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.TapsApi;
import org.openapitools.client.api.TransactionsApi;
import org.openapitools.client.model.DecimalAmount;
import org.openapitools.client.model.MobileTransaction;
import org.openapitools.client.model.Refund;
import org.openapitools.client.model.Webhook;

/** Uses the client that was generated for Java; `generated-clients.test.ts` describes the commands. */
public final class Client {
  private static String env(String name) {
    return System.getenv(name);
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("pay")) pay();
    else checkWebhook();
  }

  private static ApiClient withHeader(String name, String value) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(env("GATEWAY"));
    client.setRequestInterceptor(request -> request.header(name, value));
    return client;
  }

  private static void pay() throws Exception {
    var taps = new TapsApi(withHeader("Authorization", "Bearer " + env("TOKEN")));
    var body = new MobileTransaction().merchantReference(env("REFERENCE"));
    body.generalCardData(env("GENERAL")).paymentCardData(env("PAYMENT"));
    var tap = taps.submitTap(env("DEVICE"), body, null, null, null).getOnlineAuthorizationResponse();
    var transactions = new TransactionsApi(withHeader("x-api-key", env("API_KEY")));
    var half = new Refund().amount(new DecimalAmount(env("REFUND"))).refundReference(env("REFERENCE") + "-refund");
    var refund = transactions.refundSale(tap.getServiceReference(), half, null, null, env("REFERENCE"));
    System.out.println(tap.getType() + " " + tap.getAmountMinor() + " " + refund.getType() + " " + refund.getAmount());
  }

  /** Standard Webhooks 1.0: one of the signatures must be that of the secret. */
  private static void checkWebhook() throws Exception {
    byte[] body = System.in.readAllBytes();
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(Base64.getDecoder().decode(env("WEBHOOK_SECRET").substring("whsec_".length())), "HmacSHA256"));
    mac.update((env("WEBHOOK_ID") + "." + env("WEBHOOK_TIMESTAMP") + ".").getBytes(StandardCharsets.UTF_8));
    byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
    boolean isSigned = Stream.of(env("WEBHOOK_SIGNATURE").split(" "))
        .anyMatch(each -> MessageDigest.isEqual(each.getBytes(StandardCharsets.UTF_8), expected));
    if (!isSigned) {
      System.out.println("refused");
      return;
    }
    Webhook event = new ApiClient().getObjectMapper().readValue(body, Webhook.class);
    System.out.println(event.getType() + " " + event.getDisposition() + " " + event.getAmountMinor() + " " + event.getCurrency());
  }
}
