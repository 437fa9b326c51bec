import { type List, listOf } from '../list.ts'
import type { ChangeOptions, CreateOptions, RequestOptions } from '../options.ts'
import type {
  Category,
  CategoryChange,
  Int64,
  Inventory as InventoryCounts,
  NewCategory,
  NewOrder,
  Operations,
  Order,
  OrderChange,
  StoreProfileChange,
  StoreProfile as StoreProfileFields,
} from '../schema.ts'
import { Resource } from './resource.ts'

export class Orders extends Resource {
  /** Orders, newest first. */
  list(query: Operations['listOrders']['query'] = {}, options?: RequestOptions): List<Order> {
    return listOf(this.http, 'listOrders', { query }, options)
  }

  get(orderId: Int64, options?: RequestOptions): Promise<Order> {
    return this.http.call('getOrder', { params: { orderId } }, options)
  }

  /** Places an order for an available animal. The animal becomes pending. */
  create(order: NewOrder, options?: CreateOptions): Promise<Order> {
    return this.http.call('createOrder', { body: order }, options)
  }

  /** Approves, delivers or cancels an order. */
  update(orderId: Int64, change: OrderChange, options?: ChangeOptions): Promise<Order> {
    return this.http.call('updateOrder', { params: { orderId }, body: change }, options)
  }

  /** Erases the personal data of an order. */
  eraseCustomer(orderId: Int64, options?: ChangeOptions): Promise<void> {
    return this.http.call('eraseOrderCustomer', { params: { orderId } }, options)
  }
}

/** Beta: this part of the API can still change. */
export class Categories extends Resource {
  /** Categories, in order of id. */
  list(query: Operations['listCategories']['query'] = {}, options?: RequestOptions): List<Category> {
    return listOf(this.http, 'listCategories', { query }, options)
  }

  get(categoryId: Int64, options?: RequestOptions): Promise<Category> {
    return this.http.call('getCategory', { params: { categoryId } }, options)
  }

  create(category: NewCategory, options?: CreateOptions): Promise<Category> {
    return this.http.call('createCategory', { body: category }, options)
  }

  update(categoryId: Int64, change: CategoryChange, options?: ChangeOptions): Promise<Category> {
    return this.http.call('updateCategory', { params: { categoryId }, body: change }, options)
  }

  /** Removes a category that has no animals. */
  delete(categoryId: Int64, options?: ChangeOptions): Promise<void> {
    return this.http.call('deleteCategory', { params: { categoryId } }, options)
  }
}

/** Beta: this part of the API can still change. */
export class Inventory extends Resource {
  /** The number of animals with each status. */
  get(options?: RequestOptions): Promise<InventoryCounts> {
    return this.http.call('getInventory', {}, options)
  }
}

/** Beta: this part of the API can still change. */
export class StoreProfile extends Resource {
  /** The name of the store, how to reach it, and whether its adoption page is on. */
  get(options?: RequestOptions): Promise<StoreProfileFields> {
    return this.http.call('getStoreProfile', {}, options)
  }

  /** Changes the given fields. `null` clears a field. */
  update(change: StoreProfileChange, options?: ChangeOptions): Promise<StoreProfileFields> {
    return this.http.call('updateStoreProfile', { body: change }, options)
  }
}
