/** The merchant cannot be served at this moment: its cell is away, or it is being moved to another. It passes by itself. */
export class MerchantUnavailable extends Error {}
