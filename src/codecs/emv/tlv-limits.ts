/** The blobs of a contactless tap are under 2 KB; 64 KB exceeds every template that a card or an issuer can send. */
export const MAX_TLV_BYTES = 65_536;

/** An FCI nests 4 deep (6F, A5, BF0C, 61): 8 open templates leave space for wrappers. */
export const MAX_TLV_DEPTH = 8;

/** DE55 has about 30 objects; everything that a reader keeps of one tap has under 150. */
export const MAX_TLV_OBJECTS = 256;
