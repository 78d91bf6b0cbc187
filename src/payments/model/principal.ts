/** The identity under which a tap is submitted. */
export interface Principal {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly userClaim: string | null;
  readonly xTid: string | null;
  /** The terminal profile that the token selects (`spCfg`). */
  readonly profileName: string | null;
  /** The link or intent that the token was issued for; the token gives access to nothing else. */
  readonly consumerId?: string | undefined;
}
