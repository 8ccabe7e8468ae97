-- As drizzle-kit writes it, with its breakpoints.
DO $$ BEGIN
 CREATE TYPE "public"."mood" AS ENUM('sad', 'ok', 'happy');
EXCEPTION
 WHEN duplicate_object THEN null;
END $$;
--> statement-breakpoint
CREATE SCHEMA IF NOT EXISTS "drizzle";
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "drizzle"."__drizzle_migrations" (
	id SERIAL PRIMARY KEY,
	hash text NOT NULL,
	created_at bigint
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "users" (
	"id" serial PRIMARY KEY NOT NULL,
	"full_name" text,
	"phone" varchar(256),
	"mood" "mood" DEFAULT 'ok',
	"meta" jsonb DEFAULT '{"a":1}'::jsonb,
	"flags" integer[] DEFAULT '{}'::integer[] NOT NULL,
	"created_at" timestamp DEFAULT now() NOT NULL,
	"seen_at" timestamp (3) with time zone,
	"wait" interval day to second (3),
	"amount" numeric(10, 2) DEFAULT '0.00',
	"key" uuid DEFAULT gen_random_uuid() NOT NULL,
	"upper_name" text GENERATED ALWAYS AS (upper(full_name)) STORED,
	CONSTRAINT "users_phone_unique" UNIQUE("phone"),
	CONSTRAINT "phone_length" CHECK (length("users"."phone") > 3)
);
--> statement-breakpoint
CREATE TABLE "cities" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "cities_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"state" char(2)
);
--> statement-breakpoint
CREATE TABLE "users_to_cities" (
	"user_id" integer NOT NULL,
	"city_id" integer NOT NULL,
	CONSTRAINT "users_to_cities_user_id_city_id_pk" PRIMARY KEY("user_id","city_id")
);
--> statement-breakpoint
DO $$ BEGIN
 ALTER TABLE "users_to_cities" ADD CONSTRAINT "users_to_cities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
EXCEPTION
 WHEN duplicate_object THEN null;
END $$;
--> statement-breakpoint
ALTER TABLE "users_to_cities" ADD CONSTRAINT "users_to_cities_city_id_cities_id_fk" FOREIGN KEY ("city_id") REFERENCES "public"."cities"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "name_idx" ON "users" USING btree ("full_name");
--> statement-breakpoint
CREATE UNIQUE INDEX "lower_idx" ON "cities" USING btree (lower("name"),"state" DESC NULLS LAST) WHERE "cities"."state" is not null;
--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "phone" SET DATA TYPE text;
--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "full_name" SET NOT NULL;
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "age" smallint DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "users" RENAME COLUMN "age" TO "years";
--> statement-breakpoint
ALTER TABLE "users" DROP CONSTRAINT "users_phone_unique";
--> statement-breakpoint
ALTER TABLE "users" DROP COLUMN IF EXISTS "flags";
--> statement-breakpoint
ALTER TYPE "mood" ADD VALUE 'great';
--> statement-breakpoint
ALTER TABLE "cities" RENAME TO "towns";
--> statement-breakpoint
ALTER TABLE "users" ENABLE TRIGGER ALL;
--> statement-breakpoint
CREATE VIEW "public"."happy_users" AS (select "id", "full_name" from "users" where "users"."mood" = 'happy');
--> statement-breakpoint
CREATE SEQUENCE "public"."custom" INCREMENT BY 10 MINVALUE 10 MAXVALUE 1000 START WITH 10 CACHE 5 CYCLE;
