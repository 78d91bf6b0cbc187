/** As whom a tap is submitted. */
export interface Principal {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly userClaim: string | null;
  readonly xTid: string | null;
  /** The terminal profile that the token chose (`spCfg`). */
  readonly profileName: string | null;
  /** The link or intent whose own token it is: it opens nothing else. */
  readonly consumerId?: string | undefined;
}
