import type { Schemas } from './schema.ts'

export type PetStatus = Schemas['PetStatus']
/** Every animal in a response has a status. */
export type Pet = Omit<Schemas['Pet'], 'status'> & { status: PetStatus }
export type Category = Schemas['Category']
export type Order = Schemas['Order']
export type OrderStatus = Schemas['OrderStatus']
export type Limits = Schemas['Limits']
export type Scope = Schemas['Scope']
export type StoreEvent = Schemas['Event']
export type Plan = Schemas['Plan']
export type Key = Schemas['Key']
export type KeyWithSecret = Schemas['KeyWithSecret']
export type LimitWindow = Schemas['LimitWindow']
export type Inventory = Schemas['Inventory']
export type Usage = Schemas['Usage']
export type UsageBucket = Schemas['UsageBucket']
export type Webhook = Schemas['Webhook']
export type WebhookWithSecret = Schemas['WebhookWithSecret']
export type Delivery = Schemas['Delivery']
export type KnownEventType = Schemas['KnownEventType']
export type AuditEntry = Schemas['AuditEntry']
