/** A category exists from the first pet that refers to it, and has no name until it is given one. */
export type Category = { id: bigint; name: string | undefined }
