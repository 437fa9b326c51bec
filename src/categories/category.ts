/** A category is created by a request, or without a name by the first pet that refers to it. */
export type Category = { id: bigint; name: string | undefined }
