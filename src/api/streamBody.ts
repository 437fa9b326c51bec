/** Bytes of a stream. Many responses may send the same chunk, so it is encoded, and framed for HTTP/1.1, once. */
export class StreamChunk {
  readonly bytes: Uint8Array
  #framed: Uint8Array | undefined

  constructor(text: string) {
    this.bytes = Buffer.from(text)
  }

  /** As a chunk of `Transfer-Encoding: chunked`. */
  get framed(): Uint8Array {
    this.#framed ??= Buffer.concat([
      Buffer.from(`${this.bytes.length.toString(16)}\r\n`),
      this.bytes,
      Buffer.from('\r\n'),
    ])
    return this.#framed
  }
}

export type StreamWriter = {
  /** Sends a chunk. False if the client is behind: then write nothing more before `onDrain`. */
  write(chunk: StreamChunk): boolean
  /** Sends a last chunk and ends the body. */
  end(chunk: StreamChunk): void
}

/** What the writer reports to the body. */
export type StreamEvents = {
  /** The client has caught up. */
  onDrain(): void
  /** The body has been sent, or the client is gone. */
  onClose(): void
}

/** A response body that is written over time. It is either started or cancelled, once. */
export type StreamBody = {
  start(writer: StreamWriter): StreamEvents
  /** The body will not be sent. */
  cancel(): void
}
