import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prefersType } from '../../src/api/request.ts'

const stream = 'text/event-stream'
const json = 'application/json'

const preferStream = [
  stream,
  'Text/Event-Stream',
  `${stream};charset=utf-8`,
  `${stream}, */*`,
  `*/*, ${stream}`,
  `${stream}, application/*`,
  `${stream};q=0.5`,
  `${stream};q=0.001`,
  `${stream}, ${json};q=0.9`,
  `${json};q=0.5, ${stream};q=0.6`,
  `${json} ; Q=0.5 ,${stream} ; Q=0.6`,
  `${stream}, ${json};q=0`,
  `${json};q=0, */*`,
  `${stream};q=0.5, */*;q=0.5`,
  `${stream}, text/html, */*;q=0.8`,
  'text/*, */*;q=0.1',
  'text/*',
  `${stream}, ${json};q=2`,
]
const preferJson = [
  undefined,
  '',
  '*/*',
  json,
  'application/*',
  'text/html',
  'text/event-streams',
  'event-stream',
  `${json}, ${stream}`,
  `${stream}, ${json}`,
  `${stream};q=0.5, ${json};q=0.5`,
  `${stream};q=0.9, ${json}`,
  `${stream};q=0.5, */*`,
  `${stream};q=0.5, application/*`,
  `${stream};q=0`,
  `${stream};q=0.000`,
  `${stream};q=0, */*`,
  `${stream};q=0, text/*`,
  `${stream};q=0, ${json};q=0`,
  `${stream};q=high`,
  `${stream};q=`,
  `${stream};q=-1`,
  `${json}, text/*`,
  '*/*;q=0',
  ', ;, ;q=1',
  `text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8`,
]

for (const accept of preferStream)
  test(`Accept: ${accept} prefers a stream`, () => {
    assert.ok(prefersType(accept, stream, json))
    assert.ok(!prefersType(accept, json, stream))
  })

for (const accept of preferJson)
  test(`Accept: ${accept} does not prefer a stream`, () => assert.ok(!prefersType(accept, stream, json)))
