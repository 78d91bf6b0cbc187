/** A contactless tap's blobs are under 2 KB; 64 KB is above every template that a card or an issuer can send. */
export const MAX_TLV_BYTES = 65_536;

/** An FCI nests 4 deep (6F, A5, BF0C, 61): 8 open templates leave room for what wraps it. */
export const MAX_TLV_DEPTH = 8;

/** DE55 has about 30 objects, all that a reader keeps of one tap under 150. */
export const MAX_TLV_OBJECTS = 256;
