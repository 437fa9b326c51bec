import { once } from 'node:events'
import { decodePhoto, InvalidImageError } from './decode.ts'
import { encodeJson, encodeMessage, readMessages } from './messages.ts'
import { photoFileNames } from './photo.ts'

/** The first message of a response. The files follow, each in a message, if there is no problem. */
export type DecodeResponse =
  | { readonly width: number; readonly height: number; readonly color: string }
  | { readonly problem: string }

/** A process of its own: an image that crashes the decoder, or fills its memory, does not harm the service. */
export async function decodePhotos(): Promise<void> {
  for await (const image of readMessages(process.stdin)) {
    for (const message of await respond(image))
      if (!process.stdout.write(message)) await once(process.stdout, 'drain')
  }
}

async function respond(image: Uint8Array): Promise<Buffer[]> {
  try {
    const { files, ...size } = await decodePhoto(image)
    return [
      encodeJson(size satisfies DecodeResponse),
      ...photoFileNames.map((name) => encodeMessage(files[name])),
    ]
  } catch (error) {
    if (!(error instanceof InvalidImageError)) throw error
    return [encodeJson({ problem: error.message } satisfies DecodeResponse)]
  }
}
